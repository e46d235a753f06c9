/** `tierclaw db list|check|backup|restore`: the home's two databases and their backups. */
import { openAudit } from '../audit.ts';
import { AppError, EXIT_STATUS } from '../errors.ts';
import type { Home } from '../home.ts';
import { type Backup, DATABASE_NAMES, type DatabaseName, listBackups, makeBackup } from '../store/backup.ts';
import { databaseFile } from '../store/backup-rounds.ts';
import { type DatabaseState, inspectDatabase } from '../store/inspect.ts';
import { acquireLock } from '../store/lock.ts';
import { planRestore, type Restored, type RestorePlan, restore } from '../store/restore.ts';
import type { CommandContext, CommandResult } from './context.ts';
import { isHomeMade } from './groups-find.ts';
import { formatBytes, formatDuration, renderTable } from './table.ts';

export interface RestoreOptions {
  readonly backup?: string;
  readonly yes?: boolean;
}

const describeState = (state: DatabaseState): string => {
  switch (state.kind) {
    case 'missing':
      return 'missing';
    case 'damaged':
      return `damaged: ${state.why}`;
    case 'foreign':
      return 'not a database of TierClaw’s';
    case 'newer':
      return `of a newer version (${state.unknown.join(', ')})`;
    case 'whole':
      return 'whole';
    default:
      return state satisfies never;
  }
};

const iso = (ms: number): string => new Date(ms).toISOString();

const describeBackup = (backup: Backup) => {
  const { file, database, atMs, why, bytes } = backup;
  return { database, at: iso(atMs), why, bytes, state: describeState(inspectDatabase(database, file)), file };
};

/** Every one of them is read whole. */
export const listDb = async ({ home }: CommandContext): Promise<CommandResult> => {
  const backups = listBackups(home.backups).map(describeBackup);
  if (backups.length === 0) return { text: `no backups in ${home.backups}; make one: tierclaw db backup`, data: [] };
  const rows = backups.map(({ database, at, why, bytes, state, file }) => [
    ...[database, at, why === 'regular' ? why : `after ${why}`, formatBytes(bytes), state, file],
  ]);
  return { text: renderTable([['database', 'made', 'why', 'size', 'is', 'file'], ...rows]), data: backups };
};

export const checkDb = async ({ home }: CommandContext): Promise<CommandResult> => {
  const found = DATABASE_NAMES.map((database) => {
    const file = databaseFile(home, database);
    const state = inspectDatabase(database, file);
    return { database, file, isWhole: state.kind === 'whole', state: describeState(state) };
  });
  const broken = found.filter(({ isWhole }) => !isWhole);
  const next = broken.map(({ database }) => `\nnext: tierclaw db restore ${database}`).join('');
  const text = renderTable(found.map(({ database, state, file }) => [database, state, file])) + next;
  return { text, data: found, status: broken.length === 0 ? 0 : EXIT_STATUS.config };
};

export const backupDb = async ({ home }: CommandContext): Promise<CommandResult> => {
  if (!isHomeMade(home)) {
    const message = `there is no home at ${home.dir} (no ${home.stateDatabase})`;
    throw new AppError({ code: 'not-found', message, hint: 'make one with: tierclaw init' });
  }
  const now = Date.now();
  const files = DATABASE_NAMES.map((database) =>
    makeBackup({ database, source: databaseFile(home, database), directory: home.backups, now }),
  );
  return { text: files.map((file) => `made ${file}`).join('\n'), data: files };
};

/** What coming back to an earlier time means; the operator decides with this before his eyes. */
const MEANING: Readonly<Record<DatabaseName, readonly string[]>> = {
  state: [
    'Groups, their tiers, sessions and model budgets will be those of the backup: look at them with',
    '`tierclaw groups list` before `tierclaw up`. Nothing is answered again by itself: messages that waited then, and',
    'later ones that seem unanswered, become dead letters (`tierclaw dead list`), to be replayed or dropped.',
  ],
  messages: [
    'Chats’ history will be that of the backup; messages of the last week and what was said since the backup are put',
    'back as far as the state database has them.',
  ],
};

const DATABASES_TEXT = DATABASE_NAMES.join(' or ');

const parseName = (name: string): DatabaseName => {
  const found = DATABASE_NAMES.find((one) => one === name);
  if (found !== undefined) return found;
  throw new AppError({ code: 'usage', message: `there is no database "${name}"`, hint: `it is ${DATABASES_TEXT}` });
};

const renderPlan = ({ file, found, backup, skipped, rows, database }: RestorePlan): string => {
  const age = formatDuration(Math.max(0, Date.now() - backup.atMs));
  const head = [
    ['replaces', file, describeState(found)],
    ['by', backup.file, `of ${iso(backup.atMs)}, ${age} old, ${formatBytes(backup.bytes)}`],
    ...skipped.map((one) => ['not by', one, 'it can’t be used']),
  ];
  const counts = rows
    .filter(({ now, inBackup }) => now !== 0 || inBackup !== 0)
    .map(({ table, now, inBackup }) => [table, now === null ? '?' : `${now}`, `${inBackup}`]);
  const table = renderTable([['rows in', 'now', 'in the backup'], ...counts]);
  return [renderTable(head), '', table, '', ...MEANING[database]].join('\n');
};

const renderDone = ({ database, file }: RestorePlan, { keptAs, shelved, refilled }: Restored): string =>
  [
    `restored ${file}`,
    keptAs === null ? 'there was no file to keep' : `what was there is kept as ${keptAs}`,
    database === 'state'
      ? `${shelved} dead letters made of what may or may not have been answered: tierclaw dead list`
      : `${refilled} messages put back from the state database`,
    `next: ${database === 'state' ? 'tierclaw groups list, then ' : ''}tierclaw up`,
  ].join('\n');

/** Before it is done: it may bring back rights that were taken away since. */
const record = (home: Home, { database, backup, found }: RestorePlan): void => {
  const audit = openAudit(home.auditFile, Date.now);
  try {
    audit.record({ kind: 'database-restore', database, backup: backup.file, replaced: describeState(found) });
  } finally {
    audit.close();
  }
};

/** Without `--yes` it shows what it would do, and ends with status 6. */
export const restoreDb = async (
  { home }: CommandContext,
  name: string,
  { backup, yes = false }: RestoreOptions,
): Promise<CommandResult> => {
  const plan = planRestore(home, parseName(name), backup);
  if (!yes) {
    const command = `tierclaw db restore ${plan.database}${backup === undefined ? '' : ` --backup ${backup}`} --yes`;
    const text = `${renderPlan(plan)}\n\nnothing was changed; to do it: ${command}`;
    return { text, data: { done: false, ...plan, command }, status: EXIT_STATUS.refused };
  }
  const lock = acquireLock(home.lockFile);
  try {
    record(home, plan);
    const done = restore(home, plan, Date.now);
    return { text: `${renderPlan(plan)}\n\n${renderDone(plan, done)}`, data: { done: true, ...plan, ...done } };
  } finally {
    lock.release();
  }
};
