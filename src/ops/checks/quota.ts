/** How well the disk quotas of turns can be kept on this machine: said plainly, for there is no way to be exact. */
import { readFile, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { isErrno } from '../../errors.ts';
import { type Check, type Examined, type Finding, good, warning } from '../doctor.ts';

export interface FileSystem {
  readonly type: string;
  readonly hasProjectQuotas: boolean;
}

/** A line of `/proc/self/mountinfo`; proc(5) has the fields. */
const parseLine = (line: string): { device: string; fileSystem: FileSystem } | null => {
  const [before = '', after = ''] = line.split(' - ');
  const device = before.split(' ')[2];
  const [type, , options = ''] = after.split(' ');
  if (device === undefined || type === undefined) return null;
  const hasProjectQuotas = options.split(',').some((option) => option === 'prjquota' || option === 'pquota');
  return { device, fileSystem: { type, hasProjectQuotas } };
};

/** The file system of that device; null: no line names it (btrfs has devices of its own per volume). */
export const findFileSystem = (mountinfo: string, device: string): FileSystem | null =>
  mountinfo
    .split('\n')
    .map(parseLine)
    .find((line) => line?.device === device)?.fileSystem ?? null;

export const judgeQuotas = (fileSystem: FileSystem | null, isRoot: boolean): Finding => {
  const on = fileSystem === null ? 'an unknown file system' : fileSystem.type;
  const unused = fileSystem?.hasProjectQuotas === true ? '; its project quotas are not used' : '';
  const found = `kept by measuring, on ${on}${unused}: a turn that writes as fast as it can is ended some MB beyond, at worst what it writes in about 0.3 s`;
  if (isRoot) return good(found);
  return warning(
    `${found}; without root a container’s own layer is measured by the engine, every 30 s at most, and deleted files that it holds open may not be seen`,
    'run the supervisor as root, or lower the quotas: quotas in tierclaw.yaml',
  );
};

/** As mountinfo writes them; makedev(3). */
const deviceOf = (dev: number): string => {
  const wide = BigInt(dev);
  const major = ((wide >> 8n) & 0xfffn) | ((wide >> 32n) & ~0xfffn);
  const minor = (wide & 0xffn) | ((wide >> 12n) & ~0xffn);
  return `${major}:${minor}`;
};

const devOf = async (path: string): Promise<number> => {
  try {
    return (await stat(path)).dev;
  } catch (thrown) {
    if (!isErrno(thrown, 'ENOENT') || dirname(path) === path) throw thrown;
    return devOf(dirname(path));
  }
};

const checkQuotas = async ({ home, ownUid }: Examined): Promise<Finding> => {
  const mountinfo = await readFile('/proc/self/mountinfo', 'utf8');
  return judgeQuotas(findFileSystem(mountinfo, deviceOf(await devOf(home.groups))), ownUid === 0);
};

export const quotaChecks: readonly Check[] = [{ id: 'quotas', title: 'disk quotas', run: checkQuotas }];
