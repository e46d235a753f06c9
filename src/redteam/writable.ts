/** Whether something can be made in a directory. What was made is taken away again. */
import { randomBytes } from 'node:crypto';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { held, type Outcome, reached } from './probe.ts';

const errorName = (thrown: unknown): string =>
  thrown instanceof Error && 'code' in thrown ? String(thrown.code) : String(thrown);

const tryOne = async (act: () => Promise<unknown>): Promise<string | null> => {
  try {
    await act();
    return null;
  } catch (thrown) {
    return errorName(thrown);
  }
};

interface Demands {
  /** A refusal for want of rights isn't enough: the mount itself must be read-only, whoever owns what is on it. */
  readonly readOnly?: boolean;
}

/** Tries to make a file and a directory in each of them; reached where one was made, or was refused for a lesser reason. */
export const canWrite = async (directories: readonly string[], demands: Demands = {}): Promise<Outcome> => {
  const refusals: string[] = [];
  for (const directory of directories) {
    const path = join(directory, `.tc-probe-${randomBytes(6).toString('hex')}`);
    const file = await tryOne(() => writeFile(path, 'x', { flag: 'wx' }));
    const folder = await tryOne(() => mkdir(`${path}.d`));
    await rm(path, { force: true }).catch(() => undefined);
    await rm(`${path}.d`, { force: true, recursive: true }).catch(() => undefined);
    if (file === null || folder === null) return reached(`made something in ${directory}`);
    const isMounted = file === 'EROFS' || file === 'ENOENT';
    if (demands.readOnly === true && !isMounted) return reached(`${directory} is writable but for its owner: ${file}`);
    refusals.push(`${directory}: ${file}`);
  }
  return held(refusals.join(', '));
};
