/**
 * The home's secrets: read from `.env` (0600), handed out by name, and taken out of every text that leaves the process.
 * No error, log line or answer ever holds a value; only the gateway puts one on the wire, and only to its own provider.
 */
import { open } from 'node:fs/promises';
import { AppError, isErrno } from './errors.ts';

/** A shorter value would be found in ordinary words and numbers, and make every text unreadable. */
const REDACT_LENGTH_MIN = 6;
const REDACTED = '[redacted]';

/** Takes secrets out of a stream of bytes, also where one is split over chunks. */
export interface ChunkFilter {
  /** What may be passed on now; bytes that may be the beginning of a secret are kept back until the next call. */
  push(chunk: Uint8Array): Buffer;
  /** What was kept back. */
  end(): Buffer;
}

export interface Secrets {
  get(name: string): string | undefined;
  /** Throws AppError `config`, naming the secret and the file, where it isn't there or is empty. */
  require(name: string): string;
  /** The text with every secret of six characters or more replaced. */
  redact(text: string): string;
  filter(): ChunkFilter;
}

const fileError = (where: string, text: string, hint: string): AppError =>
  new AppError({ code: 'config', message: `${where}: ${text}`, hint });

const ASSIGNMENT = /^(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*)$/;
const SINGLE_QUOTED = /^'([^']*)'\s*(?:#.*)?$/;
const DOUBLE_QUOTED = /^"((?:[^"\\]|\\.)*)"\s*(?:#.*)?$/;
const ESCAPES: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t' };

/** The value as it is meant; undefined where a quote isn't closed. */
const unquote = (written: string): string | undefined => {
  if (written.startsWith("'")) return SINGLE_QUOTED.exec(written)?.[1];
  if (!written.startsWith('"')) return written.replace(/(?:^|\s+)#.*$/, '').trimEnd();
  return DOUBLE_QUOTED.exec(written)?.[1]?.replace(/\\(.)/g, (_, letter: string) => ESCAPES[letter] ?? letter);
};

const parseLine = (line: string, where: string): readonly [string, string] => {
  const hint = 'a line is NAME=value, NAME="value" or a # comment';
  const [, name, written] = ASSIGNMENT.exec(line) ?? [];
  if (name === undefined || written === undefined) throw fileError(where, 'not NAME=value', hint);
  const value = unquote(written);
  if (value === undefined) throw fileError(where, `${name}: the quote isn’t closed, or something follows it`, hint);
  return [name, value];
};

/**
 * Own code instead of `util.parseEnv`: that one cuts an unquoted value at any `#` and says nothing about a broken line.
 * Throws AppError `config` with file and line, never with a value.
 */
export const parseEnvFile = (text: string, file: string): ReadonlyMap<string, string> => {
  const values = new Map<string, string>();
  for (const [index, raw] of text
    .replace(/^\uFEFF/, '')
    .split(/\r?\n/)
    .entries()) {
    const line = raw.trim();
    if (line === '' || line.startsWith('#')) continue;
    const [name, value] = parseLine(line, `${file}:${index + 1}`);
    if (values.has(name)) throw fileError(`${file}:${index + 1}`, `${name} is set twice`, 'remove one of the lines');
    values.set(name, value);
  }
  return values;
};

/** The value and the forms in which JSON and URLs carry it. */
const writtenForms = (value: string): readonly string[] => [
  value,
  JSON.stringify(value).slice(1, -1),
  encodeURIComponent(value),
];

/** How many bytes at the end of `bytes` are a beginning of `secret`, but not all of it. */
const heldBack = (bytes: Buffer, secret: Buffer): number => {
  for (let size = Math.min(secret.length - 1, bytes.length); size > 0; size -= 1) {
    const from = bytes.length - size;
    // The first byte alone says no almost every time, without a view being made.
    if (bytes[from] === secret[0] && bytes.subarray(from).equals(secret.subarray(0, size))) return size;
  }
  return 0;
};

const replaceBytes = (bytes: Buffer, secret: Buffer): Buffer => {
  const pieces: Buffer[] = [];
  const mark = Buffer.from(REDACTED);
  let from = 0;
  for (let at = bytes.indexOf(secret); at >= 0; at = bytes.indexOf(secret, from)) {
    pieces.push(bytes.subarray(from, at), mark);
    from = at + secret.length;
  }
  return pieces.length === 0 ? bytes : Buffer.concat([...pieces, bytes.subarray(from)]);
};

/** The same bytes, not copied. */
const viewOf = (chunk: Uint8Array): Buffer => Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);

const chunkFilter = (needles: readonly Buffer[]): ChunkFilter => {
  const state: { kept: Buffer } = { kept: Buffer.alloc(0) };
  return {
    push: (chunk) => {
      const whole = state.kept.length === 0 ? viewOf(chunk) : Buffer.concat([state.kept, chunk]);
      const clean = needles.reduce(replaceBytes, whole);
      const size = Math.max(0, ...needles.map((needle) => heldBack(clean, needle)));
      state.kept = clean.subarray(clean.length - size);
      return clean.subarray(0, clean.length - size);
    },
    end: () => state.kept,
  };
};

/** Secrets from a map; `file` is named in errors. */
export const createSecrets = (values: ReadonlyMap<string, string>, file: string): Secrets => {
  const forms = new Set(
    [...values.values()].filter((value) => value.length >= REDACT_LENGTH_MIN).flatMap(writtenForms),
  );
  // Longest first: a secret that contains another one must go as a whole.
  const needles = [...forms].sort((a, b) => b.length - a.length);
  const bytes = needles.map((needle) => Buffer.from(needle));
  return {
    get: (name) => values.get(name),
    require: (name) => {
      const value = values.get(name);
      if (value !== undefined && value !== '') return value;
      throw fileError(file, `there is no secret ${name}`, `add a line ${name}=… to ${file} (mode 0600)`);
    },
    redact: (text) => needles.reduce((clean, needle) => clean.replaceAll(needle, REDACTED), text),
    filter: () => chunkFilter(bytes),
  };
};

const readPrivateFile = async (file: string): Promise<string> => {
  const handle = await open(file, 'r');
  try {
    const { mode } = await handle.stat();
    if ((mode & 0o077) === 0) return await handle.readFile('utf8');
    const found = (mode & 0o777).toString(8).padStart(4, '0');
    throw fileError(file, `others may read it: its mode is ${found}, it must be 0600`, `chmod 600 ${file}`);
  } finally {
    await handle.close();
  }
};

/** The secrets of a `.env` file; a missing file means none. Throws AppError `config` for a mode other than 0600. */
export const loadSecrets = async (envFile: string): Promise<Secrets> => {
  try {
    return createSecrets(parseEnvFile(await readPrivateFile(envFile), envFile), envFile);
  } catch (thrown) {
    if (isErrno(thrown, 'ENOENT')) return createSecrets(new Map(), envFile);
    throw thrown;
  }
};
