/** Questions about other processes of this machine. */
import { readFile } from 'node:fs/promises';
import { isErrno } from '../errors.ts';

/** Its parent has not collected it, but it does nothing any more; some containers' first process never collects. */
const isZombie = async (pid: number): Promise<boolean> => {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => ''); // No /proc: then it is only asked by signal.
  return stat
    .slice(stat.lastIndexOf(')') + 1)
    .trimStart()
    .startsWith('Z');
};

export const isAlive = async (pid: number): Promise<boolean> => {
  try {
    process.kill(pid, 0);
  } catch (thrown) {
    if (isErrno(thrown, 'EPERM')) return true;
    if (isErrno(thrown, 'ESRCH')) return false;
    throw thrown;
  }
  return !(await isZombie(pid));
};
