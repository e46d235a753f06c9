/** `file_edit`: replaces one passage that occurs exactly once, so that an edit can't hit the wrong place. */
import { z } from 'zod';
import { locate, readRegular, replaceFile } from './regular-file.ts';
import { defineTool, ToolFailure } from './tool.ts';

/** The text with its only occurrence of `old` replaced; throws ToolFailure when there isn't exactly one. */
export const replaceOnly = (text: string, old: string, replacement: string): string => {
  const parts = text.split(old);
  const found = parts.length - 1;
  if (found === 1) return parts.join(replacement);
  if (found === 0) throw new ToolFailure('old_text does not occur in the file; read it and quote it exactly.');
  throw new ToolFailure(`old_text occurs ${found} times in the file; quote more around the place that is meant.`);
};

export const fileEdit = defineTool({
  name: 'file_edit',
  description: 'Replaces old_text by new_text in a file. old_text has to occur exactly once.',
  input: z.object({ path: z.string().min(1), old_text: z.string().min(1), new_text: z.string() }),
  run: async ({ path, old_text: old, new_text: replacement }, { directory }) => {
    const absolute = locate(directory, path);
    const bytes = await readRegular(path, absolute);
    const text = bytes.toString('utf8');
    if (!Buffer.from(text, 'utf8').equals(bytes)) throw new ToolFailure(`${path} is not UTF-8 text; use bash.`);
    await replaceFile(path, absolute, replaceOnly(text, old, replacement));
    return `Edited ${path}.`;
  },
});
