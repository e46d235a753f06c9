/** The command table: words and options as commander parses them, and the function that each of them runs. */
import { Command, CommanderError } from 'commander';
import { DEFAULT_TIER, TIER_NAMES } from '../domain/tiers.ts';
import { AppError, EXIT_STATUS } from '../errors.ts';
import { packageVersion } from '../package-root.ts';
import { addAudit } from './audit-words.ts';
import { type ChatOptions, chat } from './chat.ts';
import { addDb } from './db-words.ts';
import { addDead } from './dead-words.ts';
import { doctor } from './doctor.ts';
import { down } from './down.ts';
import { addGc } from './gc-words.ts';
import { listGroups, register, showGroup } from './groups.ts';
import type { Registration } from './groups-register.ts';
import { addExamples, helpAfter } from './help.ts';
import { buildImage, showImage } from './image.ts';
import { init } from './init.ts';
import { type LogsOptions, logs } from './logs.ts';
import { type PlanOptions, plan } from './plan.ts';
import { addRedteam } from './redteam-words.ts';
import { listRuns, type RunsOptions, showRun } from './runs.ts';
import { addSecrets } from './secrets-words.ts';
import { type SpendOptions, spend } from './spend.ts';
import { status } from './status.ts';
import { up } from './up.ts';
import { type Choose, countUpTo, DAYS_MAX, LINES_MAX, RUNS_MAX, type Run, verb, withGlobals } from './words.ts';

/** What a command line asks for. */
export type Parsed =
  | { readonly kind: 'run'; readonly run: Run; readonly json: boolean; readonly homeDir: string | undefined }
  /** Help or version. */
  | { readonly kind: 'text'; readonly text: string; readonly status: number };

const addLifecycle = (program: Command, choose: Choose): void => {
  const initCommand = verb(program, 'init', 'make a home, or what is missing of it');
  initCommand.action(() => choose(initCommand, init));
  const upCommand = verb(program, 'up', 'run the supervisor, here or in the background');
  upCommand
    .option('-d, --detach', 'start it in the background and return when it answers', false)
    .action((options: { detach: boolean }) => choose(upCommand, (context) => up(context, options)));
  const downCommand = verb(program, 'down', 'end the supervisor in good order');
  downCommand.action(() => choose(downCommand, down));
  const statusCommand = verb(program, 'status', 'what the supervisor is doing');
  statusCommand.action(() => choose(statusCommand, status));
  const doctorCommand = verb(program, 'doctor', 'what is wrong on this machine and in this home, and how to mend it');
  doctorCommand.action(() => choose(doctorCommand, (context) => doctor(context)));
};

const addTalk = (program: Command, choose: Choose): void => {
  const chatCommand = verb(program, 'chat', 'talk to the agent of a local group');
  chatCommand
    .option('-g, --group <group>', 'folder, id or name (default: the group of the highest tier)')
    .option('--once <text>', 'send one message, print the outcome')
    .action((options: ChatOptions) => choose(chatCommand, (context) => chat(context, options)));
  const logsCommand = verb(program, 'logs', 'the supervisor’s log');
  logsCommand
    .option('-g, --group <group>', 'only lines of that group')
    .option('-r, --run <id>', 'only lines of that run; ids: tierclaw runs list')
    .option('-n, --lines <count>', 'how many of the last lines', countUpTo('lines', LINES_MAX), 50)
    .option('-f, --follow', 'go on with new lines as they come', false)
    .action((options: LogsOptions) => choose(logsCommand, (context) => logs(context, options)));
};

const addRuns = (program: Command, choose: Choose): void => {
  const runs = program.command('runs').description('what turns have been: phases, ends, tool calls');
  const list = verb(runs, 'list', 'the last turns, newest first');
  list
    .option('-g, --group <group>', 'only those of that group')
    .option('-n, --limit <count>', 'how many', countUpTo('runs', RUNS_MAX), 20)
    .action((options: RunsOptions) => choose(list, (context) => listRuns(context, options)));
  const show = verb(runs, 'show', 'one turn');
  show
    .argument('<id>', 'as `runs list` and the log name it')
    .action((id: string) => choose(show, (context) => showRun(context, id)));
};

const addSpend = (program: Command, choose: Choose): void => {
  const command = verb(program, 'spend', 'requests, tokens and money of each group, by day, beside their caps');
  command
    .option('-g, --group <group>', 'folder, id or name (default: all)')
    .option('-n, --days <count>', 'how many days, today among them', countUpTo('days', DAYS_MAX), 7)
    .action((options: SpendOptions) => choose(command, (context) => spend(context, options)));
};

const addPlan = (program: Command, choose: Choose): void => {
  const command = verb(program, 'plan', 'what a turn gets: mounts, limits, rights');
  command
    .argument('[group]', 'folder, id or name (default: the group of the highest tier)')
    .option('-t, --tier <tier>', `of any group of that tier: ${TIER_NAMES.join(', ')}`)
    .action((group: string | undefined, { tier }: PlanOptions) =>
      choose(command, (context) => plan(context, { group, tier })),
    );
};

const addGroups = (program: Command, choose: Choose): void => {
  const groups = program.command('groups').description('registered chats and their tiers');
  const list = verb(groups, 'list', 'all registered groups');
  list.action(() => choose(list, listGroups));
  const show = verb(groups, 'show', 'one group');
  show
    .argument('<group>', 'folder, id or name')
    .action((group: string) => choose(show, (context) => showGroup(context, group)));
  const add = verb(groups, 'register', 'register a chat, so that its messages are answered');
  add
    .argument('<id>', '<channel instance>:<chat id>, e.g. local:team')
    .requiredOption('--folder <folder>', 'its folder below groups/')
    .option('-t, --tier <tier>', TIER_NAMES.join(', '), DEFAULT_TIER)
    .option('--name <name>', 'shown to people (default: the folder)')
    .option('--agent <alias>', 'who answers', 'default')
    .action((id: string, options: Omit<Registration, 'id'>) =>
      choose(add, (context) => register(context, { id, ...options })),
    );
};

const addImage = (program: Command, choose: Choose): void => {
  const image = program.command('image').description('the agent image that turns run in');
  const build = verb(image, 'build', 'build it where its inputs have changed');
  build
    .option('--base <image>', 'the image to build on')
    .action(({ base }: { base?: string }) => choose(build, (context) => buildImage(context, base)));
  const show = verb(image, 'show', 'which one this home uses');
  show.action(() => choose(show, showImage));
};

interface Globals {
  readonly home?: string;
  readonly json?: boolean;
}

/** The nearest to the verb wins. */
const globalsOf = (command: Command): Globals => ({
  ...(command.parent === null ? {} : globalsOf(command.parent)),
  ...command.opts<Globals>(),
});

/** The nouns and verbs that the words begin with. */
const commandPath = (program: Command, words: readonly string[]): string => {
  const path = [program.name()];
  let at: Command | undefined = program;
  for (const word of words) {
    at = at.commands.find((command) => command.name() === word);
    if (at === undefined) break;
    path.push(word);
  }
  return path.join(' ');
};

/** The help of the command that was meant, as far as the words name one. */
const usageError = (thrown: CommanderError, command: string): AppError =>
  new AppError({ code: 'usage', message: thrown.message.replace(/^error: /, ''), hint: `${command} --help` });

const configure = (program: Command, print: (text: string) => void): void => {
  withGlobals(program)
    .name('tierclaw')
    .description('A host supervisor for AI agents in group chats: each turn in one sealed container.')
    .version(packageVersion(), '--version', 'print the version')
    .enablePositionalOptions()
    .exitOverride()
    .configureOutput({ writeOut: print, writeErr: print, outputError: () => undefined })
    .addHelpText('after', helpAfter());
};

/** Throws AppError `usage` for what isn't a command line of ours. */
export const parseCommandLine = async (words: readonly string[]): Promise<Parsed> => {
  const printed: string[] = [];
  const chosen: { parsed: Parsed | null } = { parsed: null };
  const choose: Choose = (command, run) => {
    const { home, json } = globalsOf(command);
    chosen.parsed = { kind: 'run', run, json: json ?? false, homeDir: home };
  };
  const program = new Command();
  configure(program, (text) => printed.push(text));
  for (const add of [
    addLifecycle,
    addTalk,
    addRuns,
    addDead,
    addDb,
    addSpend,
    addSecrets,
    addPlan,
    addGroups,
    addImage,
    addAudit,
    addRedteam,
    addGc,
  ])
    add(program, choose);
  addExamples(program);
  try {
    await program.parseAsync([...words], { from: 'user' });
  } catch (thrown) {
    if (!(thrown instanceof CommanderError)) throw thrown;
    // Without a command the help is the answer, but nothing was done.
    const status = thrown.code === 'commander.help' ? EXIT_STATUS.usage : thrown.exitCode;
    if (printed.length === 0) throw usageError(thrown, commandPath(program, words));
    return { kind: 'text', text: printed.join(''), status };
  }
  if (chosen.parsed === null) throw new AppError({ code: 'usage', message: 'no command', hint: 'tierclaw --help' });
  return chosen.parsed;
};
