/** `audit` as words and options. */
import type { Command } from 'commander';
import { type AcknowledgeOptions, acknowledgeAudit, type VerifyOptions, verifyAudit } from './audit.ts';
import { type AuditListOptions, listAudit } from './audit-list.ts';
import { renderTable } from './table.ts';
import { type Choose, countUpTo, LINES_MAX, verb } from './words.ts';

const examples = (rows: readonly (readonly [string, string])[]): string => `\nExamples:\n${renderTable(rows, 2)}`;

const LIST = examples([
  ['tierclaw audit list --group lobby --since 2h', 'what a group’s turns did and were refused lately'],
  ['tierclaw audit list --kind ipc-', 'kinds that begin so: bad files in inboxes'],
  ['tierclaw audit list --kind egress --last 1000 --json', 'an array of objects, oldest first'],
]);

const VERIFY = `
A line’s hash is the SHA-256 of the line up to ,"hash": and holds the hash of the line before; data/audit/head names the
last one. So a line that was changed, removed, moved, doubled or added is found, and an end that was cut off. Whoever may
write both the trail and the head can make all of it anew: against that, keep the last line’s number and hash on another
machine, and compare with --expect.

Exit status: 0 whole, 12 broken.
${examples([
  ['tierclaw audit verify', 'what is broken, by file and line; what is intact'],
  ['tierclaw audit verify --expect 4711:9f86…', 'compare with a line that was noted down elsewhere'],
  ['tierclaw audit verify --json', '{"ok","lines","intact","flaws":[{"file","line","what"}],"acknowledged","last"}'],
])}`;

const ACKNOWLEDGE = `
No turn starts on a broken trail. This keeps the broken file as it is, under the next number in data/audit/, and begins
a new one whose first line vouches for the old files as they are now: the break stays named by \`verify\`, and a later
change of them is found. The supervisor must not be running.
${examples([
  ['tierclaw audit acknowledge', 'what is broken; nothing is changed'],
  ['tierclaw audit acknowledge --yes', 'begin anew behind it'],
])}`;

export const addAudit = (program: Command, choose: Choose): void => {
  const audit = program.command('audit').description('what was done and refused, on a record that shows tampering');
  const list = verb(audit, 'list', 'the last events, oldest first');
  list
    .option('-g, --group <group>', 'only those of that group')
    .option('-k, --kind <kind>', 'only those of that kind, or of all kinds that begin so')
    .option('-s, --since <time>', 'only those since then: a date, or 30m, 12h, 7d ago')
    .option('-n, --last <count>', 'how many', countUpTo('events', LINES_MAX), 50)
    .addHelpText('after', LIST)
    .action((options: AuditListOptions) => choose(list, (context) => listAudit(context, options)));
  const verify = verb(audit, 'verify', 'whether every line is what was written');
  verify
    .option('--expect <number:hash>', 'a line that was noted down elsewhere must be there')
    .addHelpText('after', VERIFY)
    .action((options: VerifyOptions) => choose(verify, (context) => verifyAudit(context, options)));
  const acknowledging = verb(
    audit,
    'acknowledge',
    'begin anew behind a broken trail; without --yes: show what is broken',
  );
  acknowledging
    .option('--yes', 'do it')
    .addHelpText('after', ACKNOWLEDGE)
    .action((options: AcknowledgeOptions) => choose(acknowledging, (context) => acknowledgeAudit(context, options)));
};
