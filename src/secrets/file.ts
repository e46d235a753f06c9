/**
 * A `.env` file: NAME=value lines in a regular file that is its owner's alone. Invariant: no error ever has a value in
 * it, and nothing is read that others may read, write, or put in the file's place.
 */
import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { AppError, isErrno } from '../errors.ts';

/** Some hundred secrets take a few kilobytes. */
const FILE_BYTES_MAX = 1024 * 1024;

export const fileError = (where: string, text: string, hint: string): AppError =>
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
  if (value.includes('\0')) throw fileError(where, `${name}: there is a NUL character in it`, hint);
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

/** Throws AppError `config` unless the open file is a regular one, ours, and closed to everybody else. */
const checkPrivate = async (handle: FileHandle, file: string): Promise<void> => {
  const found = await handle.stat();
  if (!found.isFile()) throw fileError(file, 'it is not a regular file', `look at it: ls -ld '${file}'`);
  const own = process.getuid?.() ?? found.uid;
  if (found.uid !== own) {
    throw fileError(
      file,
      `it belongs to uid ${found.uid}, not to ${own} as the supervisor does`,
      `chown ${own} '${file}'`,
    );
  }
  if ((found.mode & 0o077) !== 0) {
    const mode = (found.mode & 0o777).toString(8).padStart(4, '0');
    throw fileError(file, `others may read it: its mode is ${mode}, it must be 0600`, `chmod 600 ${file}`);
  }
  if (found.size > FILE_BYTES_MAX) throw fileError(file, `it is larger than ${FILE_BYTES_MAX} bytes`, 'shorten it');
};

/** A link is refused: what it leads to may be anybody's. A FIFO must not hold the opening. */
const FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

const openPrivate = async (file: string): Promise<FileHandle> => {
  try {
    return await open(file, FLAGS);
  } catch (thrown) {
    if (isErrno(thrown, 'EACCES')) {
      throw fileError(file, 'the supervisor’s user may not read it', `give it to that user: chown <user> '${file}'`);
    }
    if (!isErrno(thrown, 'ELOOP')) throw thrown;
    throw fileError(
      file,
      'it is a link; secrets are read from a regular file alone',
      `cp --remove-destination "$(readlink -f '${file}')" '${file}' && chmod 600 '${file}'`,
    );
  }
};

/** The values of a `.env` file; a missing file means none. Throws AppError `config`, naming what to do. */
export const readEnvFile = async (file: string): Promise<ReadonlyMap<string, string>> => {
  try {
    const handle = await openPrivate(file);
    try {
      await checkPrivate(handle, file);
      return parseEnvFile(await handle.readFile('utf8'), file);
    } finally {
      await handle.close();
    }
  } catch (thrown) {
    if (isErrno(thrown, 'ENOENT')) return new Map();
    throw thrown;
  }
};
