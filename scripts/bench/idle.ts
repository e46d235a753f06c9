/** The memory of a supervisor that has nothing to do: started as an operator starts it, ten seconds after it. */
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { execa } from 'execa';
import { type ControlClient, controlClient } from '../../src/commands/client.ts';
import { GroupId } from '../../src/domain/ids.ts';
import type { Home } from '../../src/home.ts';
import { packageRoot } from '../../src/package-root.ts';
import { makeHome } from '../../test/integration/installation.ts';
import { atMost, type Bench, type BenchOptions } from './bench.ts';
import { figure } from './statistics.ts';

const BAR_MB = 120;
const SETTLE_MS = 10_000;
const SAMPLE_EVERY_MS = 250;
const TURNS = 20;
/** Of the rehearsal: something a tool does, so that a turn uses all of its parts. */
const TEXT = 'run: echo done';

const residentMb = async (pid: number): Promise<number> => {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  const [, kb] = /^VmRSS:\s+(\d+) kB$/m.exec(status) ?? [];
  if (kb === undefined) throw new Error(`the supervisor (pid ${pid}) has no VmRSS: it has ended`);
  return Number(kb) / 1024;
};

const sample = async (pid: number, runs: number): Promise<number[]> => {
  await delay(SETTLE_MS);
  const samples: number[] = [];
  for (let run = 0; run < runs; run += 1) {
    samples.push(await residentMb(pid));
    await delay(SAMPLE_EVERY_MS);
  }
  return samples;
};

/** Detached, as `deploy.sh` starts it. */
const startSupervisor = async (home: Home) => {
  await execa(join(packageRoot(), 'scripts', 'tierclaw'), ['up', '--detach', '--home', home.dir]);
  const client = controlClient(home);
  const { pid } = await client.status();
  const stop = (): Promise<unknown> => execa(join(packageRoot(), 'scripts', 'tierclaw'), ['down', '--home', home.dir]);
  return { pid, client, stop };
};

/** Two chats of different tiers by turns: none of them asks more often than it may. */
const CHATS = ['local:main', 'local:lobby'].map((id) => GroupId.parse(id));

const takeTurns = async (client: ControlClient): Promise<void> => {
  for (let turn = 0; turn < TURNS; turn += 1) {
    const group = CHATS[turn % CHATS.length];
    if (group === undefined) continue;
    for await (const event of client.chat({ group, text: TEXT })) {
      if (event.kind === 'done' && event.reason !== 'completed') throw new Error(`${event.reason}: ${event.detail}`);
    }
  }
};

const measureIn = async (home: Home, { runs, tell }: BenchOptions): ReturnType<Bench['measure']> => {
  const supervisor = await startSupervisor(home);
  try {
    tell('just started, 10 s');
    const fresh = figure('resident memory, never used', 'MB', await sample(supervisor.pid, runs));
    tell(`${TURNS} turns`);
    await takeTurns(supervisor.client);
    tell('idle again, 10 s');
    const used = figure(`resident memory, ${TURNS} turns later`, 'MB', await sample(supervisor.pid, runs));
    return {
      checks: [fresh, used].map(({ name, most }) => atMost(name, most, { bar: BAR_MB, unit: 'MB' })),
      figures: [fresh, used],
      notes: ['VmRSS of `tierclaw up --detach`, code shared with other Node processes included; the worst counts'],
    };
  } finally {
    await supervisor.stop();
  }
};

const measure: Bench['measure'] = async (options) => {
  const home = await makeHome();
  try {
    return await measureIn(home, options);
  } finally {
    await rm(home.dir, { recursive: true, force: true });
  }
};

export const idle: Bench = { name: 'idle', title: 'memory of a supervisor that does nothing', measure };
