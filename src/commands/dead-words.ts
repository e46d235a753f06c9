/** `dead` as words and options. */
import type { Command } from 'commander';
import { type DeadSelection, dropDead, listDead, replayDead, showDead } from './dead.ts';
import { type Choose, verb } from './words.ts';

export const addDead = (program: Command, choose: Choose): void => {
  const dead = program.command('dead').description('messages nobody answered, replies no network took');
  const list = verb(dead, 'list', 'all of them, oldest first');
  list
    .option('-g, --group <group>', 'only those of that group')
    .action((selection: DeadSelection) => choose(list, (context) => listDead(context, selection)));
  const show = verb(dead, 'show', 'one, with its whole text and why');
  show
    .argument('<id>', 'as `dead list` names it')
    .action((id: string) => choose(show, (context) => showDead(context, id)));
  for (const [word, act, summary] of [
    ['replay', replayDead, 'have them tried again, with all their attempts'],
    ['drop', dropDead, 'give them up; their texts stay in the chat’s history'],
  ] as const) {
    const command = verb(dead, word, summary);
    command
      .argument('[ids...]', 'as `dead list` names them')
      .option('-g, --group <group>', 'all of that group')
      .option('--all', 'all there are')
      .action((ids: string[], selection: DeadSelection) => choose(command, (context) => act(context, ids, selection)));
  }
};
