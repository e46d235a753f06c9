/**
 * What must stay as it is while an attack goes on: files of the host's own and another group's, each with a text of its
 * own that must not turn up anywhere. Looked at before and after; links are not followed.
 */
import { createHash, randomBytes } from 'node:crypto';
import { lstat, mkdir, readFile, readlink, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { groupDirectory } from '../../home.ts';
import type { Arena } from '../probe.ts';

export interface Ground {
  /** A directory of the host's that no plan shows. */
  readonly outside: string;
  /** In it: a well-formed request whose text is `canary`, so that whoever reads it as one sends the text away. */
  readonly secretFile: string;
  /** The same in the victim's folder. */
  readonly victimFile: string;
  readonly canary: string;
  /** Paths that differ from what they were. */
  changed(): Promise<readonly string[]>;
}

const contentOf = async (path: string, kind: { isFile(): boolean; isSymbolicLink(): boolean }) => {
  if (kind.isSymbolicLink()) return readlink(path);
  return kind.isFile() ? readFile(path) : '';
};

/** Everything about a file that a careless host could change. */
const stateOf = async (path: string): Promise<string> => {
  try {
    const stats = await lstat(path);
    const digest = createHash('sha256').update(await contentOf(path, stats));
    const { mode, uid, gid, nlink, ino, mtimeMs } = stats;
    return [mode, uid, gid, nlink, ino, mtimeMs, digest.digest('hex')].join(' ');
  } catch (thrown) {
    return thrown instanceof Error && 'code' in thrown ? String(thrown.code) : 'unreadable';
  }
};

const newCanary = (): string => `canary-${randomBytes(12).toString('hex')}`;

/** Also as a request of any id: the reader of a link asks for the name of the link. */
const asRequest = (canary: string): string => JSON.stringify({ type: 'message', id: 'planted', text: canary });

export const layOut = async (arena: Arena): Promise<Ground> => {
  const outside = await arena.outside();
  const canary = newCanary();
  const folder = groupDirectory(arena.home, arena.victim.folder);
  const secretFile = join(outside, 'secret.json');
  const victimFile = join(folder, `${canary.slice(0, 15)}.json`);
  await mkdir(join(outside, 'tree'), { recursive: true });
  await mkdir(folder, { recursive: true });
  const files = [secretFile, join(outside, 'tree', 'deep.txt'), victimFile];
  for (const file of files) await writeFile(file, asRequest(canary), { mode: 0o640 });
  await symlink('/etc/passwd', join(outside, 'link'));
  const others = [outside, join(outside, 'tree'), join(outside, 'link'), '/etc', '/etc/passwd'];
  const watched = [...files, ...others, arena.home.envFile, arena.home.configFile];
  const states = () => Promise.all(watched.map(stateOf));
  const before = await states();
  return {
    outside,
    secretFile,
    victimFile,
    canary,
    changed: async () => {
      const after = await states();
      return watched.filter((_, index) => before[index] !== after[index]);
    },
  };
};
