/** An examination of a home in good order, in an empty directory of its own; a test spoils what it is about. */
import { mkdtemp, rm } from 'node:fs/promises';
import { release, tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { parseConfig } from '../../src/config.ts';
import { containerSpec } from '../../src/domain/spec.ts';
import { TIER_NAMES } from '../../src/domain/tiers.ts';
import { AppError } from '../../src/errors.ts';
import { homeAt } from '../../src/home.ts';
import { CHECKS } from '../../src/ops/checks/index.ts';
import type { CheckResult, Examined, Known } from '../../src/ops/doctor.ts';
import { runChecks } from '../../src/ops/doctor.ts';
import { exampleGroup, examplePlan } from '../../src/planning.ts';
import type { EngineReport } from '../../src/runtimes/runtime.ts';
import { createSecrets } from '../../src/secrets.ts';

export const known = <T>(value: T): Known<T> => ({ ok: true, value });

export const unknown = (message: string, hint?: string): Known<never> => ({
  ok: false,
  error: new AppError({ code: 'engine', message, hint }),
});

export const ENGINE: EngineReport = {
  name: 'Docker Engine',
  version: '28.5.2',
  apiVersion: '1.51',
  discards: [],
  cpus: 4,
  memoryBytes: 8 * 1024 ** 3,
  machine: {
    operatingSystem: 'Debian GNU/Linux 12 (bookworm)',
    kernel: release(),
    cgroupVersion: '2',
    storageDriver: 'overlay2',
    securityOptions: ['name=seccomp,profile=builtin', 'name=cgroupns'],
    runc: '1.3.3',
    rootDirectory: null,
  },
};

export const examined = async (spoiled: Partial<Examined> = {}): Promise<Examined> => {
  const directory = await mkdtemp(join(tmpdir(), 'tierclaw-doctor-'));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  const home = homeAt(directory);
  const config = parseConfig('', home.configFile);
  const current = known({ tag: 'tierclaw-agent:a', base: 'base:latest', baseCreatedAt: new Date().toISOString() });
  return {
    home,
    config: known(config),
    secrets: known(createSecrets(new Map(), home.envFile)),
    secretProblems: [],
    ownUid: 0,
    containerUid: 10_001,
    engineSocket: known('/var/run/docker.sock'),
    engine: known(ENGINE),
    image: known({ tag: 'tierclaw-agent:a', found: { createdAt: null }, current }),
    containers: known(0),
    supervisor: known({ pid: 1, version: '1.0.0' }),
    version: '1.0.0',
    plans: TIER_NAMES.map((tier) => {
      const plan = examplePlan({ home, config, image: 'tierclaw-agent:a' }, exampleGroup(tier));
      return { plan, env: containerSpec(plan).env };
    }),
    readTile: async () => undefined,
    preflight: async () => ({ status: 'ok', found: 'answers', hint: null }),
    nowMs: Date.now(),
    ...spoiled,
  };
};

/** The result of one check of the list. */
export const check = async (id: string, patient: Examined): Promise<CheckResult> => {
  const found = CHECKS.filter((one) => one.id === id);
  if (found.length !== 1) throw new Error(`${found.length} checks are called ${id}`);
  const [result] = await runChecks(found, patient);
  if (result === undefined) throw new Error('no result');
  return result;
};
