/** The events of a trail in the order in which they were written, read one at a time; whether they are true is `check`’s. */
import { closeSync, constants } from 'node:fs';
import { basename, join } from 'node:path';
import { z } from 'zod';
import { fullFiles, linesOf, openRegular, statOf, type TrailFiles } from './files.ts';
import { UNCHAINED_NAME } from './tail.ts';

const Entry = z.looseObject({ at: z.string(), kind: z.string() });

/** As it stands in the file; lines from before there was a chain have neither number nor hash. */
export type AuditEntry = z.infer<typeof Entry>;

const parse = (text: string): AuditEntry | null => {
  try {
    // Lines from before there was a chain are UTF-8.
    const found = Entry.safeParse(JSON.parse(Buffer.from(text, 'latin1').toString('utf8')));
    return found.success ? found.data : null;
  } catch {
    return null; // Not a line of ours: `verify` names it.
  }
};

function* entriesOf(path: string): Generator<AuditEntry> {
  const descriptor = openRegular(path, constants.O_RDONLY);
  try {
    for (const { text, isWhole } of linesOf(descriptor)) {
      const entry = isWhole ? parse(text) : null;
      if (entry !== null) yield entry;
    }
  } finally {
    closeSync(descriptor);
  }
}

/** What can't be opened as a file is named instead of being read. */
export function* readEntries(files: TrailFiles, unreadable: (name: string) => void): Generator<AuditEntry> {
  const names = [UNCHAINED_NAME, ...fullFiles(files)].map((name) => join(files.directory, name));
  for (const path of [...names, files.file].filter((one) => statOf(one) !== null)) {
    if (statOf(path)?.isFile() === true) yield* entriesOf(path);
    else unreadable(basename(path));
  }
}
