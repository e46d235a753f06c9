/** Checks of the disks: room for bytes and for files, at the home and at the engine. The judging is pure. */
import type { StatsFs } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { DiskConfig, floorBytes } from '../../domain/disk-config.ts';
import { isErrno } from '../../errors.ts';
import { type Check, type Examined, type Finding, failure, good, warning } from '../doctor.ts';

const MIB = 1024 * 1024;
const GIB = 1024 * MIB;
/** SQLite, copies and logs of a busy home write some hundred MiB a day. */
const BYTES_FAIL = 512 * MIB;
const BYTES_WARN = 2 * GIB;
const SHARE_WARN = 0.1;
const INODE_SHARE_FAIL = 0.01;

const gib = (bytes: number): string => `${(bytes / GIB).toFixed(1)} GB`;
const percent = (share: number): string => `${(share * 100).toFixed(share < 0.1 ? 1 : 0)} %`;

export interface Room {
  readonly free: number;
  readonly total: number;
}

/** `floor`: with less no turn starts. */
export const judgeBytes = ({ free, total }: Room, place: string, floor = 0): Finding => {
  const found = `${gib(free)} of ${gib(total)} free (${percent(free / total)}) at ${place}`;
  const hint =
    'make room: tierclaw gc; then look at data/backups/, groups/ and agents/ (du -x --max-depth=2 .); docker system df';
  if (free < floor) return failure(`${found}: no turn starts below ${gib(floor)}`, hint);
  if (free < BYTES_FAIL) return failure(found, hint);
  return free < BYTES_WARN || free / total < SHARE_WARN ? warning(found, hint) : good(found);
};

export const judgeInodes = ({ free, total }: Room, place: string): Finding => {
  // btrfs and some network file systems make them as they are needed.
  if (total === 0) return good('the file system has no fixed number of files');
  const found = `${free} of ${total} files free (${percent(free / total)}) at ${place}`;
  const hint = `find what has so many files: du --inodes -x '${place}' | sort -n | tail`;
  if (free / total < INODE_SHARE_FAIL) return failure(found, hint);
  return free / total < SHARE_WARN ? warning(found, hint) : good(found);
};

/** Of the data directory, which may be a mount of its own, or of the nearest directory that is there. */
const statOf = async (path: string): Promise<{ place: string; stats: StatsFs }> => {
  try {
    return { place: path, stats: await statfs(path) };
  } catch (thrown) {
    if (!isErrno(thrown, 'ENOENT') || dirname(path) === path) throw thrown;
    return statOf(dirname(path));
  }
};

const judgePlace = async ({ config }: Examined, path: string): Promise<Finding> => {
  const { place, stats } = await statOf(path);
  const room = { free: stats.bavail * stats.bsize, total: stats.blocks * stats.bsize };
  const policy = config.ok ? config.value.disk : DiskConfig.parse({});
  return judgeBytes(room, place, floorBytes(policy, room.total));
};

/** Images and containers' layers; the engine writes there, not we. */
const checkEngineDisk = (examined: Examined): Finding | Promise<Finding> => {
  const { engine } = examined;
  const root = engine.ok ? engine.value.machine.rootDirectory : null;
  if (root === null) return good('the engine doesn’t say where it keeps its files');
  return judgePlace(examined, root);
};

export const diskChecks: readonly Check[] = [
  { id: 'disk', title: 'disk space', run: (examined) => judgePlace(examined, examined.home.data) },
  { id: 'disk:engine', title: 'engine’s disk', run: checkEngineDisk },
  {
    id: 'inodes',
    title: 'files on the disk',
    run: async ({ home }) => {
      const { place, stats } = await statOf(home.data);
      return judgeInodes({ free: stats.ffree, total: stats.files }, place);
    },
  },
];
