/** `secrets` as words. */
import type { Command } from 'commander';
import { checkSecrets, listSecrets } from './secrets.ts';
import { type Choose, verb } from './words.ts';

export const addSecrets = (program: Command, choose: Choose): void => {
  const secrets = program.command('secrets').description('keys: where they come from and who gets them; never a value');
  const list = verb(secrets, 'list', 'names, sources, purposes; runs no command');
  list.action(() => choose(list, listSecrets));
  const check = verb(secrets, 'check', 'read every file, run every command, and say what is wrong');
  check.action(() => choose(check, checkSecrets));
};
