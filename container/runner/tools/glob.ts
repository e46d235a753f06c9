/** `glob`: names of files by pattern, ignored and hidden ones too, in a stable order. */
import { z } from 'zod';
import { locate } from './regular-file.ts';
import { search } from './search.ts';
import { defineTool, ToolFailure } from './tool.ts';

/** Options first, the pattern as an option's value: it is never read as an option or a path. */
export const globArguments = (pattern: string): string[] => [
  '--no-config',
  '--files',
  '--hidden',
  '--no-ignore',
  '--no-messages',
  '--sort=path',
  `--glob=${pattern}`,
  '--glob=!.git',
];

export const glob = defineTool({
  name: 'glob',
  description: 'Lists files whose path matches a pattern such as "*.md" or "src/**/*.ts", below a directory.',
  input: z.object({
    pattern: z.string().min(1),
    path: z.string().min(1).optional().describe('The directory; left out: the group directory.'),
  }),
  run: async ({ pattern, path = '.' }, use) => {
    if (pattern.startsWith('!') || pattern.includes('\0')) throw new ToolFailure('A pattern can not start with "!".');
    const cwd = locate(use.directory, path);
    return search({ ...use, arguments: globArguments(pattern), cwd, nothing: 'No file matches.' });
  },
});
