/** What a run that was killed has left: directories and containers that name a process which is gone. */
import { readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { LABELS } from '../domain/plan.ts';
import { isErrno } from '../errors.ts';
import type { Engine } from '../runtimes/engine.ts';

/** On the containers of controls; its value is the scratch home whose run they belong to. */
export const CONTROL_LABEL = 'tierclaw.redteam';

/** How every directory of a run begins: with who made it. */
export const runPrefix = (pid: number): string => `tierclaw-redteam-${pid}-`;

const OF_A_RUN = /^tierclaw-redteam-(\d+)-/;

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch (thrown) {
    return !isErrno(thrown, 'ESRCH');
  }
};

/** By the last part of a path. */
const isLeft = (path: string): boolean => {
  const pid = OF_A_RUN.exec(path.split('/').at(-1) ?? '')?.[1];
  return pid !== undefined && !isAlive(Number(pid));
};

const Listed = z.array(z.object({ Id: z.string(), Labels: z.record(z.string(), z.string()).nullable() }));

const homeOf = (labels: Readonly<Record<string, string>> | null): string =>
  labels?.[CONTROL_LABEL] ?? labels?.[LABELS.home] ?? '';

const listed = async (engine: Engine): Promise<z.infer<typeof Listed>> => {
  const lists = [CONTROL_LABEL, LABELS.home].map((label) =>
    engine.quick.listContainers({ all: true, filters: { label: [label] } }),
  );
  return (await Promise.all(lists)).flatMap((list) => Listed.parse(list));
};

/** Removes both. What is another run's, under way, stays. */
export const removeLeftovers = async (engine: Engine): Promise<void> => {
  for (const { Id, Labels } of await listed(engine)) {
    if (isLeft(homeOf(Labels))) await engine.quick.getContainer(Id).remove({ force: true, v: true });
  }
  for (const name of await readdir(tmpdir())) {
    if (isLeft(name)) await rm(join(tmpdir(), name), { recursive: true, force: true });
  }
};
