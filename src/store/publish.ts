/**
 * The published copy: the whole message store as a file with a rollback journal that is never written once it has its
 * name. Turns get hard links to it; unlinking a superseded one here takes nothing away from them.
 */
import { chmodSync, closeSync, mkdirSync, openSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { ulid } from 'ulid';
import { z } from 'zod';
import { AppError } from '../errors.ts';
import { discard, linkInto, settleInto } from './files.ts';
import { BUSY_TIMEOUT_MS } from './patience.ts';

export interface PublisherOptions {
  /** The live store. */
  readonly source: string;
  /** Of this publisher's own: emptied when it starts. */
  readonly directory: string;
  /** A copy that is no older serves although the store has changed. */
  readonly everyMs: number;
}

export interface LinkJob {
  readonly target: string;
  /** When it was asked for, in ms since 1970. */
  readonly now: number;
  /** The copy must contain whatever was committed up to then, however young it is; null: no such wish. */
  readonly notBefore: number | null;
}

interface Published {
  readonly file: string;
  /** Its snapshot was taken then or later. */
  readonly begunAt: number;
  /** SQLite's data_version, read before its snapshot was taken. */
  readonly version: number;
}

const Version = z.number().int();

export class Publisher {
  readonly #options: PublisherOptions;
  #source: Database.Database | null = null;
  #current: Published | null = null;

  constructor(options: PublisherOptions) {
    this.#options = options;
    mkdirSync(options.directory, { recursive: true, mode: 0o700 });
    // An earlier process's copies: nobody will link them any more.
    for (const name of readdirSync(options.directory)) rmSync(join(options.directory, name), { force: true });
  }

  /**
   * Makes `target` a hard link to a copy. It is renewed where there is none, and where the store has changed and the
   * last one is `everyMs` old or too old for `notBefore`. Throws AppError `not-found` where there is no store.
   */
  link(job: LinkJob): void {
    if (this.#current === null || this.#isStale(this.#current, job)) this.#renew(job.now);
    if (this.#current !== null) linkInto(this.#current.file, job.target);
  }

  /** Copies stay. Idempotent. */
  close(): void {
    this.#source?.close();
    this.#source = null;
  }

  #isStale(current: Published, job: LinkJob): boolean {
    const due = job.now - current.begunAt >= this.#options.everyMs;
    // Not `<`: what was committed in the same millisecond may have come after the snapshot.
    const missed = job.notBefore !== null && current.begunAt <= job.notBefore;
    return (due || missed) && this.#version() !== current.version;
  }

  #renew(now: number): void {
    const version = this.#version();
    const superseded = this.#current;
    this.#current = { file: this.#copy(), begunAt: now, version };
    if (superseded !== null) rmSync(superseded.file, { force: true });
  }

  /** VACUUM INTO reads one snapshot and leaves deleted rows behind; a copy of the files would race with a WAL restart. */
  #copy(): string {
    const file = join(this.#options.directory, `${ulid()}.db`);
    const temporary = `${file}.tmp`;
    closeSync(openSync(temporary, 'wx', 0o600));
    try {
      this.#open().prepare('VACUUM INTO ?').run(temporary);
      chmodSync(temporary, 0o644);
      settleInto(temporary, file);
      return file;
    } catch (thrown) {
      discard(temporary);
      throw thrown;
    }
  }

  /** Differs from the last answer if and only if another connection has committed meanwhile. */
  #version(): number {
    return Version.parse(this.#open().pragma('data_version', { simple: true }));
  }

  /** One connection for good: versions of different connections can't be compared. */
  #open(): Database.Database {
    this.#source ??= openSource(this.#options.source);
    return this.#source;
  }
}

const openSource = (file: string): Database.Database => {
  try {
    return new Database(file, { readonly: true, fileMustExist: true, timeout: BUSY_TIMEOUT_MS });
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new AppError({ code: 'not-found', message: `the message store ${file} can't be read: ${why}`, cause });
  }
};
