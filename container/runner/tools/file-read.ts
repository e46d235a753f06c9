/** `file_read`: lines of a text file. What is shown is the file's own text, so that it can be quoted in an edit. */
import { z } from 'zod';
import { locate, readRegular } from './regular-file.ts';
import { defineTool, ToolFailure } from './tool.ts';

/** A NUL this early means that it isn't text. */
const SNIFF_BYTES = 8192;

interface Lines {
  readonly text: string;
  /** Index of the first line shown, and of the one after the last. */
  readonly from: number;
  readonly to: number;
  readonly all: number;
}

/** Whole lines from `from` on, at most `limit` of them and at most `bytesMax` bytes (a first line longer than that is cut). */
export const pickLines = (text: string, range: { from: number; limit: number; bytesMax: number }): Lines => {
  const lines = text.split('\n');
  if (lines.at(-1) === '') lines.pop();
  const picked: string[] = [];
  let bytes = 0;
  for (const line of lines.slice(range.from, range.from + range.limit)) {
    bytes += Buffer.byteLength(line) + 1;
    if (bytes > range.bytesMax && picked.length > 0) break;
    picked.push(bytes > range.bytesMax ? Buffer.from(line).subarray(0, range.bytesMax).toString('utf8') : line);
    if (bytes > range.bytesMax) break;
  }
  return { text: picked.join('\n'), from: range.from, to: range.from + picked.length, all: lines.length };
};

const note = ({ from, to, all }: Lines): string => {
  if (all === 0) return '[the file is empty]';
  if (from >= all) return `[the file has ${all} lines]`;
  return to < all || from > 0 ? `\n[lines ${from + 1}–${to} of ${all}]` : '';
};

export const fileRead = defineTool({
  name: 'file_read',
  description: 'Reads a text file, or some lines of it. Relative paths start at the group directory.',
  input: z.object({
    path: z.string().min(1),
    offset: z.number().int().min(1).optional().describe('First line to show, counted from 1.'),
    limit: z.number().int().min(1).optional().describe('How many lines to show.'),
  }),
  run: async ({ path, offset = 1, limit = Number.MAX_SAFE_INTEGER }, { directory, limits }) => {
    const bytes = await readRegular(path, locate(directory, path));
    if (bytes.subarray(0, SNIFF_BYTES).includes(0)) throw new ToolFailure(`${path} is not a text file.`);
    // Room for the note.
    const bytesMax = Math.max(1, limits.toolOutputBytes - 100);
    const lines = pickLines(bytes.toString('utf8'), { from: offset - 1, limit, bytesMax });
    return `${lines.text}${note(lines)}`;
  },
});
