/** Checks of the home's files: there, readable, and private where they must be. */
import type { Dirent, Stats } from 'node:fs';
import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { GroupFolder } from '../../domain/ids.ts';
import { isErrno } from '../../errors.ts';
import type { Home } from '../../home.ts';
import { type Check, type Examined, type Finding, failure, failureOf, good, warning } from '../doctor.ts';

const statOf = async (path: string): Promise<Stats | null> => {
  try {
    return await lstat(path);
  } catch (thrown) {
    if (isErrno(thrown, 'ENOENT') || isErrno(thrown, 'ENOTDIR')) return null;
    throw thrown;
  }
};

const INIT = (home: Home): string => `tierclaw --home ${home.dir} init`;

const checkHome = async ({ home }: Examined): Promise<Finding> => {
  const found = await statOf(home.dir);
  if (found?.isDirectory() !== true) return failure(`there is no home at ${home.dir}`, INIT(home));
  if ((await statOf(home.stateDatabase)) === null) return failure(`${home.dir} has not been made yet`, INIT(home));
  return good(home.dir);
};

const checkConfig = async ({ home, config }: Examined): Promise<Finding> => {
  if (!config.ok) return failureOf(config.error);
  const isThere = (await statOf(home.configFile)) !== null;
  return good(isThere ? `${home.configFile} is understood` : `no ${home.configFile}: all defaults`);
};

const checkEnvFile = async ({ home, secrets }: Examined): Promise<Finding> => {
  if (!secrets.ok) return failureOf(secrets.error);
  return good((await statOf(home.envFile)) === null ? `no ${home.envFile}: no secrets` : 'private, and understood');
};

const modeText = (mode: number): string => (mode & 0o777).toString(8).padStart(4, '0');

/** Fails where anybody but the owner may do anything with it. */
const checkPrivate = async (path: string, kind: 'directory' | 'socket'): Promise<Finding> => {
  const found = await statOf(path);
  if (found === null) return good(kind === 'socket' ? 'not there: no supervisor runs' : 'not there yet');
  if (!(kind === 'socket' ? found.isSocket() : found.isDirectory())) {
    return failure(`${path} is not a ${kind}`, `look at it, then move it away: ls -ld '${path}'`);
  }
  if ((found.mode & 0o077) === 0) return good(`${path} has mode ${modeText(found.mode)}`);
  const wanted = kind === 'socket' ? '600' : '700';
  return failure(
    `others may use ${path}: its mode is ${modeText(found.mode)}, it must be 0${wanted}`,
    `chmod ${wanted} '${path}'`,
  );
};

const groupFolders = async ({ groups }: Home): Promise<Dirent[]> => {
  try {
    const entries = await readdir(groups, { withFileTypes: true });
    return entries.filter(({ name }) => GroupFolder.safeParse(name).success);
  } catch (thrown) {
    if (isErrno(thrown, 'ENOENT')) return [];
    throw thrown;
  }
};

/** Turns write as the containers' user; before its first turn a folder is still the supervisor's. */
const checkGroupFolders = async ({ home, ownUid, containerUid }: Examined): Promise<Finding> => {
  const folders = await groupFolders(home);
  const odd = folders.find((entry) => !entry.isDirectory() && entry.isSymbolicLink());
  if (odd !== undefined) {
    const path = join(home.groups, odd.name);
    return failure(`${path} is a link; turns refuse it`, `put a real directory in its place: ls -l '${path}'`);
  }
  const directories = folders.filter((entry) => entry.isDirectory()).map(({ name }) => join(home.groups, name));
  const owners = await Promise.all(directories.map(async (path) => ({ path, uid: (await statOf(path))?.uid })));
  const foreign = owners.find(({ uid }) => uid !== undefined && uid !== ownUid && uid !== containerUid);
  if (foreign === undefined) return good(`${directories.length}, with the right owner`);
  const found = `${foreign.path} belongs to uid ${foreign.uid}; turns write as uid ${containerUid}`;
  const hint = `chown -R ${containerUid}:${containerUid} '${foreign.path}'`;
  // Root hands the directory over itself; what lies in it stays the other user's.
  return ownUid === 0 ? warning(found, hint) : failure(found, `as root: ${hint}`);
};

const SOCKET_PATH_MAX = 107;

const checkSocketPaths = async ({ home, engineSocket }: Examined): Promise<Finding> => {
  if (!engineSocket.ok) return failureOf(engineSocket.error);
  const bytes = Buffer.byteLength(engineSocket.value);
  if (bytes > SOCKET_PATH_MAX) {
    const found = `the engine’s socket has a path of ${bytes} bytes; the kernel takes ${SOCKET_PATH_MAX}`;
    return failure(found, 'make a link with a short path to it and name that as runtime.docker.socket');
  }
  if ((await statOf('/proc/self/fd')) === null) {
    return failure('/proc is not mounted; sockets are reached through it', 'mount -t proc proc /proc');
  }
  const own = Buffer.byteLength(home.controlSocket);
  return good(`engine ${bytes} of ${SOCKET_PATH_MAX} bytes; the home’s own (${own}) may be of any length`);
};

export const homeChecks: readonly Check[] = [
  { id: 'home', title: 'home', run: checkHome },
  { id: 'config', title: 'configuration', run: checkConfig },
  { id: 'env-file', title: 'secrets file', run: checkEnvFile },
  { id: 'data-directory', title: 'data directory', run: ({ home }) => checkPrivate(home.data, 'directory') },
  { id: 'control-socket', title: 'control socket', run: ({ home }) => checkPrivate(home.controlSocket, 'socket') },
  { id: 'group-folders', title: 'group folders', run: checkGroupFolders },
  { id: 'socket-paths', title: 'socket paths', run: checkSocketPaths },
];
