/** `file_write`: a whole file, made or replaced at once. */
import { z } from 'zod';
import { locate, replaceFile } from './regular-file.ts';
import { defineTool } from './tool.ts';

export const fileWrite = defineTool({
  name: 'file_write',
  description: 'Writes a file: makes it, or replaces all of it. Missing directories are made.',
  input: z.object({ path: z.string().min(1), content: z.string() }),
  run: async ({ path, content }, { directory }) => {
    await replaceFile(path, locate(directory, path), content);
    return `Wrote ${Buffer.byteLength(content)} bytes to ${path}.`;
  },
});
