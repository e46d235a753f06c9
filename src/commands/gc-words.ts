/** The words of `tierclaw gc`. */
import type { Command } from 'commander';
import { type GcOptions, gc } from './gc.ts';
import { type Choose, verb } from './words.ts';

export const addGc = (program: Command, choose: Choose): void => {
  const command = verb(
    program,
    'gc',
    'clear away what has been kept long enough; the supervisor does it every ten minutes',
  );
  command
    .option('--dry-run', 'only show what would go', false)
    .action((options: GcOptions) => choose(command, (context) => gc(context, options)));
};
