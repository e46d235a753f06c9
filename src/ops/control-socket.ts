/**
 * Where the control socket lies in the file system. Invariants: it has mode 0600 from the moment it has its name; a
 * socket on which somebody answers is never replaced; no path is too long (sockets are bound and reached through a
 * descriptor of their directory, because the kernel allows 107 bytes and Node 20 cuts the rest off silently).
 */
import { constants } from 'node:fs';
import { chmod, type FileHandle, lstat, mkdtemp, open, rename, rmdir, unlink } from 'node:fs/promises';
import { type Server as NetServer, connect as netConnect } from 'node:net';
import { basename, dirname, join } from 'node:path';
import { AppError, isErrno } from '../errors.ts';

/** A path to `name` in an open directory, short however deep the directory lies. Valid while the handle is open. */
const shortPath = (directory: FileHandle, name: string): string => `/proc/self/fd/${directory.fd}/${name}`;

const openDirectory = (path: string): Promise<FileHandle> => open(path, constants.O_RDONLY | constants.O_DIRECTORY);

/** Calls `use` with a short path to the socket and keeps that path valid until its promise has settled. */
export const withShortPath = async <T>(socketPath: string, use: (path: string) => Promise<T>): Promise<T> => {
  const directory = await openDirectory(dirname(socketPath));
  try {
    return await use(shortPath(directory, basename(socketPath)));
  } finally {
    await directory.close();
  }
};

const connectOnce = (path: string): Promise<void> =>
  new Promise((resolve, reject) => {
    const socket = netConnect(path, () => {
      socket.destroy();
      resolve();
    });
    socket.once('error', reject);
  });

const inTheWay = (socketPath: string, found: string, hint: string): AppError =>
  new AppError({ code: 'conflict', message: `control socket ${socketPath}: ${found}`, hint });

/** Returns when there is nothing at the path, or a socket that nobody listens on; throws AppError `conflict` else. */
const checkNobodyAnswers = async (socketPath: string): Promise<void> => {
  const found = await lstat(socketPath).catch((thrown) => {
    if (isErrno(thrown, 'ENOENT')) return undefined;
    throw thrown;
  });
  if (found === undefined) return;
  if (!found.isSocket()) throw inTheWay(socketPath, 'something that is not a socket lies there', 'move it away');
  try {
    await withShortPath(socketPath, connectOnce);
  } catch (thrown) {
    if (isErrno(thrown, 'ECONNREFUSED') || isErrno(thrown, 'ENOENT')) return;
    throw thrown;
  }
  throw inTheWay(socketPath, 'another supervisor answers there', 'stop it with: tierclaw down');
};

const listenAt = (server: NetServer, path: string): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(path, () => {
      server.off('error', reject);
      resolve();
    });
  });

/** A socket that has its name; `release` takes the name away, unless it is somebody else's by now. */
export interface BoundSocket {
  release(): Promise<void>;
}

const releaseOwn = async (socketPath: string, inode: number): Promise<void> => {
  const found = await lstat(socketPath).catch(() => undefined); // Gone already: nothing to release.
  if (found?.ino === inode) await unlink(socketPath);
};

/**
 * Binds in a fresh directory that only this user can enter, then moves the finished socket to its name: nobody ever
 * sees it with other rights, and it replaces a stale one in one step. Release after the server has closed.
 */
export const bindControlSocket = async (server: NetServer, socketPath: string): Promise<BoundSocket> => {
  await checkNobodyAnswers(socketPath);
  const nursery = await mkdtemp(join(dirname(socketPath), '.control-'));
  const directory = await openDirectory(nursery);
  const bound = join(nursery, 's');
  try {
    await listenAt(server, shortPath(directory, 's'));
    await chmod(bound, 0o600);
    const { ino } = await lstat(bound);
    await rename(bound, socketPath);
    return { release: () => releaseOwn(socketPath, ino).finally(() => directory.close()) };
  } catch (thrown) {
    server.close();
    await directory.close();
    throw thrown;
  } finally {
    await unlink(bound).catch(() => undefined); // There only where a step above failed.
    await rmdir(nursery);
  }
};
