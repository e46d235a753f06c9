/**
 * Secrets, handed out by name and taken out of every text that leaves the process. No error, log line or answer ever
 * holds a value; only the gateway puts one on the wire, to the one host that it is for, and only a launch puts one into
 * a container, where the plan has it.
 */
import type { AppError } from './errors.ts';
import { fileError } from './secrets/file.ts';
import { type ChunkFilter, createFinder } from './secrets/finder.ts';

export type { ChunkFilter } from './secrets/finder.ts';

/** An agent's alias: its own secrets and no others. Left out or null: the home's. */
export type SecretOwner = string | null;

export interface Secrets {
  get(name: string, owner?: SecretOwner): string | undefined;
  /** Throws AppError `config`, naming the secret and where it belongs, where it isn't there or is empty. */
  require(name: string, owner?: SecretOwner): string;
  /** The text with every secret of six characters or more replaced, in all its ordinary forms. */
  redact(text: string): string;
  /** Takes out what `redact` does, of what is known when it is made. */
  filter(): ChunkFilter;
}

/** `NAME=…` belongs there. */
export const missingSecret = (name: string, file: string): AppError =>
  fileError(file, `there is no secret ${name}`, `add a line ${name}=… to ${file} (mode 0600)`);

/** Secrets of a home from a map; `file` is named in errors. No agent has any of its own. */
export const createSecrets = (values: ReadonlyMap<string, string>, file: string): Secrets => {
  const finder = createFinder(values.values());
  const get = (name: string, owner: SecretOwner = null) => (owner === null ? values.get(name) : undefined);
  return {
    get,
    require: (name, owner = null) => {
      const value = get(name, owner);
      if (value !== undefined && value !== '') return value;
      throw missingSecret(name, file);
    },
    redact: finder.redact,
    filter: finder.filter,
  };
};
