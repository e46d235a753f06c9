/**
 * Looks at a home, its machine and its engine for the doctor: a composition root of its own, beside `app.ts`. What can't
 * be learnt is an error in its place; nothing is changed, and a broken configuration hides nothing but itself.
 */
import { realpathSync } from 'node:fs';
import { join } from 'node:path';
import { type Config, type Environment, loadConfig, parseConfig } from './config.ts';
import { containerSpec } from './domain/spec.ts';
import { TIER_NAMES } from './domain/tiers.ts';
import { AppError, isErrno, toAppError } from './errors.ts';
import { readRules } from './flow/tiles.ts';
import { preflight } from './gateway/preflight.ts';
import { resolveProviders } from './gateway/providers.ts';
import { type Home, homeAt } from './home.ts';
import { createLogger } from './logger.ts';
import {
  type Examined,
  type ExaminedImage,
  type Finding,
  ifKnown,
  type Known,
  type SupervisorSeen,
} from './ops/doctor.ts';
import { packageRoot, packageVersion } from './package-root.ts';
import { builtImage, containerUid, exampleGroup, examplePlan, imageFile } from './planning.ts';
import { createDockerRuntime } from './runtimes/docker.ts';
import { type Engine, engineSocket, openEngine } from './runtimes/engine.ts';
import { currentInputs, findImage, imageTag } from './runtimes/image.ts';
import { openSecrets } from './secrets/live.ts';
import type { Secrets } from './secrets.ts';

export interface ExamineOptions {
  readonly home: Home;
  readonly environment: Environment;
  readonly supervisor: () => Promise<SupervisorSeen | null>;
}

const learn = async <T>(work: () => T | Promise<T>): Promise<Known<T>> => {
  try {
    return { ok: true, value: await work() };
  } catch (thrown) {
    return { ok: false, error: toAppError(thrown) };
  }
};

/** The same spelling as the supervisor's: containers are labelled with it. */
const realHome = (home: Home): Home => {
  try {
    return homeAt(realpathSync(home.dir));
  } catch {
    return home; // There is none; the check of the home says so.
  }
};

const noEngine = (known: Known<string>): Known<never> =>
  known.ok
    ? { ok: false, error: new AppError({ code: 'engine', message: 'the engine was not asked' }) }
    : { ok: false, error: known.error };

const recordedImage = (home: Home): string => {
  try {
    return builtImage(home);
  } catch (cause) {
    const message = `${imageFile(home)} is not a record of an image`;
    throw new AppError({ code: 'config', message, hint: 'tierclaw image build', cause });
  }
};

const examineImage = async (engine: Engine, home: Home, uid: number): Promise<ExaminedImage> => {
  const tag = recordedImage(home);
  const found = await findImage(engine, tag);
  const current = await learn(async () => {
    const { inputs, base } = await currentInputs({ engine, uid, root: packageRoot() });
    return { tag: imageTag(inputs), base: base.name, baseCreatedAt: base.createdAt };
  });
  return { tag, found, current };
};

/** Asked once and by a client of its own, closed when the answers are there. */
const examineEngine = async (socket: Known<string>, home: Home, uid: number) => {
  if (!socket.ok) return { engine: noEngine(socket), containers: noEngine(socket), image: noEngine(socket) };
  const logger = createLogger({ level: 'silent', home: home.dir, redact: (line) => line });
  const runtime = createDockerRuntime({ socketPath: socket.value, homeId: home.dir, logger });
  const client = openEngine(socket.value);
  try {
    const [engine, containers, image] = await Promise.all([
      learn(() => runtime.check()),
      learn(async () => (await runtime.list()).length),
      learn(() => examineImage(client, home, uid)),
    ]);
    return { engine, containers, image };
  } finally {
    runtime.close();
    client.close();
  }
};

const plansOf = (home: Home, config: Config, image: string): Examined['plans'] =>
  TIER_NAMES.map((tier) => {
    const plan = examplePlan({ home, config, image }, exampleGroup(tier));
    return { plan, env: containerSpec(plan).env };
  });

const askProvider = (config: Known<Config>, secrets: Known<Secrets>): Promise<Finding> | Finding =>
  ifKnown(config, (settings) =>
    ifKnown(secrets, (values) => {
      const provider = resolveProviders(settings, values).get(settings.provider);
      if (provider === undefined) throw new AppError({ code: 'config', message: `no provider "${settings.provider}"` });
      return preflight(provider, values);
    }),
  );

/** A file where the home should be is no home either; the check of the home says so. */
const configOf = async (home: Home): Promise<Config> => {
  try {
    return await loadConfig(home);
  } catch (thrown) {
    if (isErrno(thrown, 'ENOTDIR')) return parseConfig('', home.configFile);
    throw thrown;
  }
};

export const examine = async (options: ExamineOptions): Promise<Examined> => {
  const home = realHome(options.home);
  const config = await learn(() => configOf(home));
  const settings = config.ok ? config.value : parseConfig('', home.configFile);
  const secrets = await learn(() => openSecrets({ home, commands: settings.secrets }));
  const uid = containerUid(settings);
  const { dockerHost } = options.environment;
  const socket = await learn(() => engineSocket({ socketPath: settings.runtime.docker.socket, dockerHost }));
  const [engine, supervisor] = await Promise.all([examineEngine(socket, home, uid), learn(options.supervisor)]);
  return {
    home,
    config,
    secrets,
    secretProblems: secrets.ok ? secrets.value.problems() : [],
    ownUid: process.getuid?.() ?? 0,
    containerUid: uid,
    engineSocket: socket,
    ...engine,
    supervisor,
    version: packageVersion(),
    plans: plansOf(home, settings, engine.image.ok ? engine.image.value.tag : 'none'),
    readTile: async (tile) => void (await readRules(join(packageRoot(), 'tiles'), tile)),
    preflight: async () => askProvider(config, secrets),
    nowMs: Date.now(),
  };
};
