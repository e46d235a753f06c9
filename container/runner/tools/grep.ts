/** `grep`: lines that match a regular expression, with file and line number. */
import { z } from 'zod';
import { locate } from './regular-file.ts';
import { search } from './search.ts';
import { defineTool, ToolFailure } from './tool.ts';

/** Pattern and path stand where ripgrep can't take them for options. Long lines are shortened. */
export const grepArguments = (pattern: string, path: string): string[] => [
  '--no-config',
  '--line-number',
  '--with-filename',
  '--no-heading',
  '--color=never',
  '--hidden',
  '--no-messages',
  '--sort=path',
  '--max-columns=500',
  '--max-columns-preview',
  '--glob=!.git',
  `--regexp=${pattern}`,
  '--',
  path,
];

export const grep = defineTool({
  name: 'grep',
  description: 'Finds lines that match a regular expression (ripgrep) in a file or below a directory.',
  input: z.object({
    pattern: z.string().min(1),
    path: z.string().min(1).optional().describe('A file or directory; left out: the group directory.'),
  }),
  run: async ({ pattern, path = '.' }, use) => {
    if (pattern.includes('\0')) throw new ToolFailure('A pattern can not have a NUL character in it.');
    // Only to refuse what is no place of files; ripgrep gets the path as written, so that results read the same.
    locate(use.directory, path);
    return search({ ...use, arguments: grepArguments(pattern, path), cwd: use.directory, nothing: 'No line matches.' });
  },
});
