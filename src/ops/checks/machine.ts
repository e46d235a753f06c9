/** Checks of this machine's kernel limits and of whose user id containers have. */
import { readFile } from 'node:fs/promises';
import { isErrno } from '../../errors.ts';
import { type Check, type Examined, type Finding, good, warning } from '../doctor.ts';

const INOTIFY = '/proc/sys/fs/inotify';
/** The kernel's own default; per user id: the supervisor takes one, a browser or a build tool in a turn several. */
const INSTANCES_LEAST = 128;
const WATCHES_LEAST = 8_192;

const readLimit = async (name: string): Promise<number | null> => {
  try {
    return Number((await readFile(`${INOTIFY}/${name}`, 'utf8')).trim());
  } catch (thrown) {
    if (isErrno(thrown, 'ENOENT')) return null;
    throw thrown;
  }
};

export interface InotifyLimits {
  readonly instances: number | null;
  readonly watches: number | null;
}

export const judgeInotify = ({ instances, watches }: InotifyLimits): Finding => {
  if (instances === null || watches === null) {
    return warning(`this kernel tells no inotify limits (${INOTIFY})`, 'files are found by the sweep, a second later');
  }
  const found = `${instances} instances and ${watches} watches per user id`;
  const low = [
    ...(instances < INSTANCES_LEAST ? ['fs.inotify.max_user_instances=512'] : []),
    ...(watches < WATCHES_LEAST ? ['fs.inotify.max_user_watches=65536'] : []),
  ];
  if (low.length === 0) return good(found);
  return warning(`${found}: few; what finds none is seen by the sweep, a second later`, `sysctl -w ${low.join(' ')}`);
};

const loginName = async (uid: number): Promise<string | null> => {
  const passwd = await readFile('/etc/passwd', 'utf8').catch(() => ''); // No such file: no login users to collide with.
  const line = passwd.split('\n').find((text) => text.split(':')[2] === String(uid));
  return line?.split(':')[0] ?? null;
};

const checkUid = async ({ ownUid, containerUid }: Examined): Promise<Finding> => {
  if (containerUid === ownUid) {
    return warning(
      `containers run as the supervisor’s own uid ${ownUid}: they share its kernel limits (inotify instances, processes), and one that broke out would own this home`,
      'run the supervisor as root, which gives containers uid 10001, or as a user who owns nothing else',
    );
  }
  const login = await loginName(containerUid);
  if (login === null) return good(`containers run as uid ${containerUid}, the supervisor as uid ${ownUid}`);
  return warning(
    `containers run as uid ${containerUid}, which is the user "${login}" of this machine`,
    'set runtime.docker.uid in tierclaw.yaml to a uid that nobody has',
  );
};

export const machineChecks: readonly Check[] = [
  {
    id: 'inotify',
    title: 'inotify limits',
    run: async () =>
      judgeInotify({
        instances: await readLimit('max_user_instances'),
        watches: await readLimit('max_user_watches'),
      }),
  },
  { id: 'uid', title: 'containers’ user', run: checkUid },
];
