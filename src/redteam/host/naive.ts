/**
 * What a careless supervisor would do in the place of ours, for controls: it must fall for the very material of the
 * attack. Whatever may hang or hold the loop runs in a child process with a deadline.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { type Arena, type Control, held, type Outcome, reached } from '../probe.ts';
import { type Ground, layOut } from './ground.ts';

/** A control by a careless host; `ground` is laid out as for the attack. */
export const naive = (run: (ground: Ground, arena: Arena) => Promise<Outcome>): Control => ({
  kind: 'naive',
  run: async (arena) => run(await layOut(arena), arena),
});

/** It reads what stands at the path, as plain `readFile` does. */
export const naiveRead = async (path: string, { canary }: Ground): Promise<Outcome> =>
  (await readFile(path, 'utf8')).includes(canary)
    ? reached(`readFile gave the secret out of ${path}`)
    : held('not read');

/** Plants something in a directory of requests of its own, then reads it without a second thought. */
export const readsPlanted = (plant: (path: string, ground: Ground) => Promise<void>): Control =>
  naive(async (ground, arena) => {
    const path = join(await arena.outside(), 'x.json');
    await plant(path, ground);
    return naiveRead(path, ground);
  });

export interface Child {
  readonly timedOut: boolean;
  readonly failed: boolean;
  readonly stdout: string;
  readonly stderr: string;
}

/** CommonJS source in a Node of its own; its arguments begin at process.argv[1]. */
export const inChild = async (source: string, args: readonly string[], timeoutMs: number): Promise<Child> => {
  const { timedOut, failed, stdout, stderr } = await execa(process.execPath, ['-e', source, ...args], {
    reject: false,
    stdin: 'ignore',
    timeout: timeoutMs,
    forceKillAfterDelay: 100,
  });
  return { timedOut, failed, stdout, stderr };
};
