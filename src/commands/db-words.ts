/** `db` as words and options. */
import type { Command } from 'commander';
import { backupDb, checkDb, listDb, type RestoreOptions, restoreDb } from './db.ts';
import { type Choose, verb } from './words.ts';

export const addDb = (program: Command, choose: Choose): void => {
  const db = program.command('db').description('the two databases and their backups');
  const list = verb(db, 'list', 'the backups: when, why, how big, whether they can be used');
  list.action(() => choose(list, listDb));
  const check = verb(db, 'check', 'whether both databases are whole');
  check.action(() => choose(check, checkDb));
  const backup = verb(db, 'backup', 'back both up now');
  backup.action(() => choose(backup, backupDb));
  const restoring = verb(db, 'restore', 'put a backup in the place of a database; without --yes: show what that means');
  restoring
    .argument('<database>', 'state or messages')
    .option('--backup <file>', 'which (default: the newest that can be used)')
    .option('--yes', 'do it')
    .action((name: string, options: RestoreOptions) =>
      choose(restoring, (context) => restoreDb(context, name, options)),
    );
};
