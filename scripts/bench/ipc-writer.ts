/** The container's part of the IPC bench: puts request files in place by renaming, and says when it did. */
import { renameSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { onQuestion, tellParent } from './child.ts';

export const WRITER_ROLE = 'ipc-writer';

/** Request ids; each becomes `<id>.json`, in this order. */
export const Put = z.object({ ids: z.array(z.string()) });
/** When the last of them was renamed into place: ns of the machine's own clock. */
export const PutAt = z.object({ at: z.string() });

const TELL_AFTER_MS = 10;

/** As the runner does it; the rename itself is made at once, so that nothing but it lies after the time. */
const put = async (directory: string, id: string): Promise<bigint> => {
  const temporary = join(directory, `.${id}.tmp`);
  await writeFile(temporary, JSON.stringify({ type: 'message', id, text: 'of the bench' }), { flag: 'wx' });
  const at = process.hrtime.bigint();
  renameSync(temporary, join(directory, `${id}.json`));
  return at;
};

/** Runs until the parent ends it. */
export const serveWriter = async ([directory = '']: readonly string[]): Promise<void> => {
  onQuestion(async (question) => {
    const times: bigint[] = [];
    for (const id of Put.parse(question).ids) times.push(await put(directory, id));
    // Told at once, it would keep busy the very loop whose latency is measured.
    await delay(TELL_AFTER_MS);
    tellParent({ at: String(times.at(-1)) });
  });
  tellParent({});
};
