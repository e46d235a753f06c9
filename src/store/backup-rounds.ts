/** Regular backups: which are due, and the thread that makes them. One that fails is said and tried again. */
import { Worker } from 'node:worker_threads';
import type { Home } from '../home.ts';
import { type BackupJob, DATABASE_NAMES, type DatabaseName, isDue, listBackups } from './backup.ts';

const HOUR_MS = 3_600_000;
/** A supervisor that is started over and over must not push the older ones out. */
const DUE_AT_START_MS = HOUR_MS;
const DUE_MS = 24 * HOUR_MS;
/** How often it is looked whether one is due. */
export const BACKUP_ROUND_MS = 10 * 60_000;

export interface BackupRoundsOptions {
  readonly home: Home;
  /** The bundled backup-worker. */
  readonly workerFile: string | URL;
  /** Ms since 1970. */
  readonly clock: () => number;
}

export const databaseFile = (home: Home, name: DatabaseName): string =>
  name === 'state' ? home.stateDatabase : home.messageDatabase;

/** A thread per database: what is wrong with one must not keep the other from its backup. */
const runThread = (file: string | URL, jobs: readonly BackupJob[]): Promise<void> =>
  new Promise((resolve, reject) => {
    const worker = new Worker(file, { workerData: jobs, name: 'backups' });
    worker.once('error', reject);
    worker.once('exit', () => resolve());
  });

/** A round makes what is due; the first is the one at start. Rejects when one could not be made. */
export const createBackupRounds = ({ home, workerFile, clock }: BackupRoundsOptions) => {
  const round = { ms: DUE_AT_START_MS };
  return async (): Promise<void> => {
    const age = { now: clock(), ms: round.ms };
    round.ms = DUE_MS;
    const backups = listBackups(home.backups);
    const due = DATABASE_NAMES.filter((name) => isDue(backups, name, age));
    const made = await Promise.allSettled(
      due.map((database) => {
        const job = { database, source: databaseFile(home, database), directory: home.backups, now: age.now };
        return runThread(workerFile, [job]);
      }),
    );
    for (const one of made) if (one.status === 'rejected') throw one.reason;
  };
};
