/** What `tierclaw --help` says beside the list of commands: examples and exit statuses. Pure. */
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
  ['tierclaw dead list', 'what got stuck; tierclaw dead replay --all once it is mended'],
];

/** Examples of single commands, below their own help. */
const EXAMPLES_OF = {
  doctor: [
    ['tierclaw doctor', 'a line per check: ✓ good, ! to be known, ✗ to be mended; status 3 where there is a ✗'],
    ['tierclaw doctor --json', '{"checks":[{"id","title","status","found","hint"}],"ok"}'],
  ],
  logs: [
    ['tierclaw logs --group lobby --follow', 'watch one group'],
    ['tierclaw logs --run 01JZX3V5W8Y6T2Q4R7S9A1B3C5', 'all that one turn has logged'],
    ['tierclaw logs --lines 500 --json', 'as it was written: a JSON object per line'],
  ],
  'runs list': [
    ['tierclaw runs list --limit 5', 'the last five turns'],
    ['tierclaw runs list --group lobby --json', 'those of a group, as data'],
  ],
  'runs show': [['tierclaw runs show 01JZX3V5W8Y6T2Q4R7S9A1B3C5', 'phases, end, model use, tool calls']],
} as const;

const INDENT = 2;

export const helpFor = (command: keyof typeof EXAMPLES_OF): string =>
  `\nExamples:\n${renderTable(EXAMPLES_OF[command], INDENT)}`;

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
