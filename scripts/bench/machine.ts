/** What the figures were measured on. */
import { statfs } from 'node:fs/promises';
import { availableParallelism, cpus, loadavg, release, type as systemType, tmpdir, totalmem } from 'node:os';
import Docker from 'dockerode';
import { z } from 'zod';
import { formatBytes } from '../../src/commands/table.ts';

const EngineInfo = z.object({
  ServerVersion: z.string(),
  Driver: z.string(),
  CgroupVersion: z.string().nullish(),
  CgroupDriver: z.string().nullish(),
  DefaultRuntime: z.string().nullish(),
});

const describeEngine = async (): Promise<Readonly<Record<string, string>>> => {
  try {
    const info = EngineInfo.parse(await new Docker({ timeout: 5_000 }).info());
    return {
      engine: `${info.ServerVersion}, runtime ${info.DefaultRuntime ?? '?'}`,
      storage: `${info.Driver}, cgroup ${info.CgroupVersion ?? '?'} (${info.CgroupDriver ?? '?'})`,
    };
  } catch (thrown) {
    return { engine: `none (${thrown instanceof Error ? thrown.message : String(thrown)})` };
  }
};

/** Names of Linux's `statfs` type numbers, for the file systems a temporary directory is likely to be on. */
const FILE_SYSTEMS: Readonly<Record<number, string>> = {
  61267: 'ext2/3/4',
  16914836: 'tmpfs',
  1481003842: 'XFS',
  2435016766: 'btrfs',
  2035054128: 'overlayfs',
};

/** One property a line, for people. */
export const describeMachine = async (): Promise<Readonly<Record<string, string>>> => {
  const { type } = await statfs(tmpdir());
  return {
    cpu: `${cpus()[0]?.model.trim() ?? 'unknown'}, ${availableParallelism()} cores`,
    memory: formatBytes(totalmem()),
    kernel: `${systemType()} ${release()}`,
    node: process.versions.node,
    ...(await describeEngine()),
    'temporary files': `${tmpdir()} on ${FILE_SYSTEMS[type] ?? `file system 0x${type.toString(16)}`}`,
    'load at the end': loadavg()
      .map((load) => load.toFixed(1))
      .join(' '),
  };
};
