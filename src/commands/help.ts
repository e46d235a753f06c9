/** What `tierclaw --help` says beside the list of commands: examples and exit statuses; and examples below the help of each. */
import type { Command } from 'commander';
import { type ErrorCode, EXIT_STATUS } from '../errors.ts';
import { renderTable } from './table.ts';

const MEANING: Readonly<Record<ErrorCode, string>> = {
  internal: 'a bug of ours',
  usage: 'the command line was not understood',
  config: 'tierclaw.yaml, .env or a database can’t be used; or doctor found something to mend',
  'not-found': 'a group, home, file or turn that isn’t there',
  conflict: 'something is there already',
  refused: 'not allowed',
  engine: 'the container engine can’t be used',
  image: 'the agent image is missing or can’t be built',
  'not-running': 'no supervisor is running',
  provider: 'the model provider refused or failed',
  timeout: 'it took too long',
  'turn-failed': 'the turn ended, but not well',
  audit: 'the audit trail is broken or can’t be written',
};

const isErrorCode = (code: string): code is ErrorCode => Object.hasOwn(MEANING, code);

const exitRows = (): string[][] =>
  Object.keys(EXIT_STATUS)
    .filter(isErrorCode)
    .map((code) => [String(EXIT_STATUS[code]), code, MEANING[code]]);

const EXAMPLES = [
  ['tierclaw init', 'make a home with one local group per tier'],
  ['tierclaw up --detach', 'start the supervisor in the background'],
  ['tierclaw chat --group lobby', 'talk to the agent of a group'],
  ["tierclaw chat --group lobby --once 'run: id' --json", 'one message, the outcome as JSON'],
  ['tierclaw plan lobby', 'what a turn of that group gets'],
  ['tierclaw spend --days 30', 'what each group has used of its model budget'],
  ['tierclaw groups register local:team --folder team', 'register a chat; without --tier it gets the least'],
  ['tierclaw logs --group lobby --follow', 'watch what happens'],
  ['tierclaw doctor', 'what is wrong here, and how to mend it'],
  ['tierclaw runs list --group lobby', 'its last turns: how long, and how they ended'],
  ['tierclaw redteam', 'try to break out of every tier, on this machine'],
  ['tierclaw audit verify', 'whether the record of what was done is what was written'],
  ['tierclaw dead list', 'what got stuck; tierclaw dead replay --all once it is mended'],
];

const RUN = '01JZX3V5W8Y6T2Q4R7S9A1B3C5';

/** Examples of single commands, below their own help, by the words that name them. */
const EXAMPLES_OF: Readonly<Record<string, readonly (readonly [string, string])[]>> = {
  init: [
    ['tierclaw init', 'in this checkout; what is there already stays as it is'],
    ['tierclaw init --home ~/chats', 'somewhere else; give the same --home to every command, or set TIERCLAW_HOME'],
  ],
  up: [
    ['tierclaw up --detach', 'in the background; its log: tierclaw logs --follow'],
    ['tierclaw up', 'here, until Ctrl-C; for a service manager'],
  ],
  down: [['tierclaw down', 'turns that run are given time to end; messages that wait are kept']],
  status: [
    ['tierclaw status', 'engine, image, provider; what runs and what waits'],
    ['tierclaw status --json', 'the same as data'],
  ],
  doctor: [
    ['tierclaw doctor', 'a line per check: ✓ good, ! to be known, ✗ to be mended; status 3 where there is a ✗'],
    ['tierclaw doctor --json', '{"checks":[{"id","title","status","found","hint"}],"ok"}'],
  ],
  chat: [
    ['tierclaw chat', 'talk to the group of the highest tier; Ctrl-D ends it'],
    ["tierclaw chat --group lobby --once 'run: id'", 'one message, its reply on stdout'],
    ["echo 'fetch: https://example.org' | tierclaw chat --group lobby", 'a message from a pipe'],
  ],
  logs: [
    ['tierclaw logs --group lobby --follow', 'watch one group'],
    [`tierclaw logs --run ${RUN}`, 'all that one turn has logged'],
    ['tierclaw logs --lines 500 --json', 'as it was written: a JSON object per line'],
  ],
  'runs list': [
    ['tierclaw runs list --limit 5', 'the last five turns'],
    ['tierclaw runs list --group lobby --json', 'those of a group, as data'],
  ],
  'runs show': [[`tierclaw runs show ${RUN}`, 'phases, end, model use, tool calls']],
  'dead list': [['tierclaw dead list --group lobby', 'what got stuck in one group']],
  'dead show': [['tierclaw dead show m17', 'its text, its attempts and why the last one failed']],
  'dead replay': [
    ['tierclaw dead replay m17 m18', 'these two'],
    ['tierclaw dead replay --all', 'all, once the cause is mended'],
  ],
  'dead drop': [['tierclaw dead drop --group lobby', 'give up all of one group']],
  'db list': [['tierclaw db list', 'newest first']],
  'db check': [['tierclaw db check', 'status 3 where one is damaged']],
  'db backup': [['tierclaw db backup', 'also while the supervisor runs']],
  'db restore': [
    ['tierclaw db restore state', 'what it would do, and what would be lost'],
    ['tierclaw db restore state --yes', 'do it; the supervisor must not be running'],
  ],
  spend: [
    ['tierclaw spend', 'a week of all groups'],
    ['tierclaw spend --group lobby --days 30 --json', 'a month of one, as data'],
  ],
  'secrets list': [['tierclaw secrets list', 'where each comes from, what it is for, whom it reaches']],
  'secrets check': [['tierclaw secrets check', 'status 3 where one is missing or a source is broken']],
  plan: [
    ['tierclaw plan lobby', 'what the next turn of that group gets'],
    ['tierclaw plan --tier untrusted', 'what any group of that tier gets'],
    ['tierclaw plan lobby --json', 'the plan itself: what two versions of a configuration change is their diff'],
  ],
  'groups list': [['tierclaw groups list', 'id, folder, tier and agent of each']],
  'groups show': [['tierclaw groups show lobby', 'one of them']],
  'groups register': [
    ['tierclaw groups register local:team --folder team', 'without --tier it gets the least'],
    ["tierclaw groups register local:family --folder family --tier trusted --name 'The family'", 'people you know'],
  ],
  'image build': [
    ['tierclaw image build', 'nothing happens where it is up to date'],
    ['tierclaw image build --base node:24-bookworm-slim', 'on a base of your own'],
  ],
  'image show': [['tierclaw image show', 'its name, as the engine has it']],
  gc: [
    ['tierclaw gc --dry-run', 'what is old enough to go, and how much that would free'],
    ['tierclaw gc', 'clear it away now'],
  ],
  redteam: [
    ['tierclaw redteam', 'every probe in every tier: a matrix'],
    ['tierclaw redteam --tier untrusted --json', 'one tier, as data'],
    ['tierclaw redteam --list', 'what is tried, and why it must fail'],
  ],
};

const INDENT = 2;

const examplesOf = (words: string): string => {
  const rows = EXAMPLES_OF[words];
  return rows === undefined ? '' : `\nExamples:\n${renderTable(rows, INDENT)}`;
};

/** Puts examples below the help of every command that has some. */
export const addExamples = (command: Command, words: readonly string[] = []): void => {
  if (command.commands.length === 0) command.addHelpText('after', examplesOf(words.join(' ')));
  for (const child of command.commands) addExamples(child, [...words, child.name()]);
};

export const helpAfter = (): string =>
  [
    '',
    'Examples:',
    renderTable(EXAMPLES, INDENT),
    '',
    'Exit status:',
    renderTable([['0', 'ok', 'it was done'], ...exitRows()], INDENT),
    '',
    'Errors: `error: …` and `hint: …` on stderr; with --json {"error":{"code","message","hint"}} on stdout.',
  ].join('\n');
