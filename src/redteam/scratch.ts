/**
 * The home that a run works on: a directory of its own, with a hostile group per tier, victims and planted canaries.
 * Everything in it may be destroyed; nothing outside of it is touched.
 */
import { randomBytes } from 'node:crypto';
import { appendFile, chmod, copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir, totalmem } from 'node:os';
import { join } from 'node:path';
import type { Config } from '../config.ts';
import type { Group } from '../domain/group.ts';
import { AgentAlias, GroupFolder, GroupId } from '../domain/ids.ts';
import { REHEARSAL_MODEL } from '../domain/provider-config.ts';
import { DEFAULT_TIER, EVERY_TIER, GUEST_TIERS, type TierName } from '../domain/tiers.ts';
import { agentWorkspace, groupDirectory, type Home, homeAt } from '../home.ts';
import { imageFile } from '../planning.ts';
import { openStores, type Stores } from '../store/stores.ts';
import { runPrefix } from './leftovers.ts';
import { CANARIES, type Canary } from './probe.ts';
import type { Witness } from './witness.ts';

/** Every turn of a run ends by then: what runs for ever is seen to be ended, and a run ends. */
export const TURN_MS = 36_000;
const PIDS_CEILING = 512;
const MEMORY_CEILING = 1024 ** 3;

/** As the configuration takes it: not less than a twentieth of the machine's. */
export const memoryShare = (): number => Math.min(0.75, Math.max(0.05, MEMORY_CEILING / totalmem()));

export type CanaryTexts = Readonly<Record<Canary, string>>;

export interface Scratch {
  readonly home: Home;
  readonly canaries: CanaryTexts;
  /** The hostile group of each tier. */
  readonly attackers: ReadonlyMap<TierName, Group>;
  /** One of a lower tier's own, in the place of another chat; by the attacker's tier. */
  readonly victims: ReadonlyMap<TierName, Group>;
  /** What the containers of the controls are given: a group's folder and a copy of the message database. */
  readonly controlDirectory: string;
  readonly stores: Stores;
  close(): Promise<void>;
}

export interface ScratchOptions {
  readonly operator: Home;
  readonly config: Config;
  readonly witness: Witness;
  /** What `tierclaw init` does to a directory. */
  readonly initHome: (home: Home) => Promise<unknown>;
}

const plant = (): CanaryTexts =>
  Object.fromEntries(
    CANARIES.map((name) => [name, `tc-canary-${name}-${randomBytes(12).toString('hex')}`]),
  ) as CanaryTexts;

/** The engine and the containers' uid are the operator's; caps are wide, but for what a probe measures against. */
const configText = ({ config, witness }: ScratchOptions): string => {
  const perTier = <T>(value: T) => Object.fromEntries(EVERY_TIER.map((tier) => [tier, value]));
  const local = `http://127.0.0.1:${witness.modelPort}`;
  return JSON.stringify({
    provider: 'witness',
    providers: {
      witness: { kind: 'anthropic', baseUrl: local, apiKey: 'MODEL_KEY', models: [REHEARSAL_MODEL] },
      decoy: {
        kind: 'openai-compatible',
        baseUrl: `http://127.0.0.1:${witness.loopbackPort}/v1`,
        apiKey: 'DECOY_KEY',
        models: ['decoy-1'],
        price: 0,
      },
    },
    prices: { 'witness/*': { input: 0, output: 0 } },
    quotas: { tiers: perTier({ mountBytes: FOLDER_BYTES }) },
    caps: perTier({ requestsPerMinute: REQUESTS_PER_MINUTE, tokensPerDay: 1e9 }),
    egress: {
      tiers: perTier({ ports: [80, 443, witness.hostPort, witness.loopbackPort], connectionsPerMinute: 10_000 }),
    },
    agents: { [VICTIM]: {} },
    runtime: { docker: config.runtime.docker },
    ceiling: {
      pids: PIDS_CEILING,
      memoryShare: memoryShare(),
      turnMinutes: TURN_MS / 60_000,
    },
    turns: { concurrent: 8 },
    queue: { retries: 0 },
  });
};

/** A run makes far fewer, but for the probe that runs into it. */
const REQUESTS_PER_MINUTE = 300;

/** A run needs a few MB of it, but for the probe that runs into it. */
const FOLDER_BYTES = 256 * 1024 * 1024;

const VICTIM = AgentAlias.parse('victim');

const groupOf = (folder: string, tier: TierName, agent: string): Group => ({
  id: GroupId.parse(`local:${folder}`),
  name: folder,
  folder: GroupFolder.parse(folder),
  tier,
  agent: AgentAlias.parse(agent),
  registeredAt: new Date().toISOString(),
});

const addGroup = async (home: Home, stores: Stores, group: Group): Promise<Group> => {
  await mkdir(groupDirectory(home, group.folder), { recursive: true });
  await chmod(groupDirectory(home, group.folder), 0o755);
  stores.groups.register(group);
  stores.messages.saveChat({ chat: group.id, name: group.name, channel: 'local', isGroup: true });
  return group;
};

/** The sole tier has its one group from `init`; the others get one that is nobody else's. */
const addAttackers = async (home: Home, stores: Stores): Promise<Map<TierName, Group>> => {
  const attackers = new Map<TierName, Group>();
  for (const tier of EVERY_TIER) {
    const sole = GUEST_TIERS.includes(tier) ? undefined : stores.groups.list().find((group) => group.tier === tier);
    attackers.set(tier, sole ?? (await addGroup(home, stores, groupOf(`attacker-${tier}`, tier, 'default'))));
  }
  return attackers;
};

const addVictims = async (home: Home, stores: Stores): Promise<Map<TierName, Group>> => {
  const victims = new Map<TierName, Group>();
  for (const tier of EVERY_TIER) {
    const own = GUEST_TIERS.includes(tier) ? tier : DEFAULT_TIER;
    victims.set(tier, await addGroup(home, stores, groupOf(`victim-of-${tier}`, own, VICTIM)));
  }
  return victims;
};

const writeCanary = async (directory: string, text: string): Promise<void> => {
  await mkdir(directory, { recursive: true });
  await writeFile(join(directory, 'private.md'), `${text}\n`, { mode: 0o644 });
};

/** Enough rows that more than one page of the database is the victims'. */
const PLANTED_MESSAGES = 200;

const plantMessages = (stores: Stores, victim: Group, text: string): void => {
  for (let at = 0; at < PLANTED_MESSAGES; at += 1) {
    stores.messages.saveInbound({
      chat: victim.id,
      id: `planted-${at}`,
      senderId: 'stranger',
      senderName: 'Stranger',
      text: `${text} ${'x'.repeat(100)}`,
      at: new Date().toISOString(),
      threadId: null,
      replyToId: null,
    });
  }
};

const plantFiles = async (home: Home, canaries: CanaryTexts, victims: Iterable<Group>): Promise<void> => {
  for (const victim of victims) await writeCanary(groupDirectory(home, victim.folder), canaries['victim-folder']);
  await writeCanary(agentWorkspace(home, VICTIM), canaries['victim-agent']);
  await writeCanary(home.trusted, canaries['shared-memory']);
  await appendFile(join(home.global, 'SOUL.md'), `\n${canaries['owner-soul']}\n`);
};

const secretsText = (canaries: CanaryTexts): string =>
  [
    `UNUSED_SECRET=${canaries['env-secret']}`,
    `MODEL_KEY=${canaries['model-key']}`,
    `DECOY_KEY=${canaries['decoy-key']}`,
    '',
  ].join('\n');

/** A whole file by itself: the stores are opened, filled and closed before it is copied. */
const copyDatabase = async (home: Home, directory: string): Promise<void> => {
  await mkdir(directory, { recursive: true });
  await copyFile(home.messageDatabase, join(directory, 'messages.db'));
};

const fill = async (home: Home, canaries: CanaryTexts) => {
  const stores = openStores(home, Date.now);
  try {
    const attackers = await addAttackers(home, stores);
    const victims = await addVictims(home, stores);
    await plantFiles(home, canaries, victims.values());
    for (const victim of victims.values()) plantMessages(stores, victim, canaries['victim-message']);
    return { attackers, victims };
  } finally {
    stores.close();
  }
};

const build = async (home: Home, options: ScratchOptions): Promise<Omit<Scratch, 'close'>> => {
  const canaries = plant();
  await options.initHome(home);
  await writeFile(home.configFile, configText(options));
  await writeFile(home.envFile, secretsText(canaries), { mode: 0o600 });
  await copyFile(imageFile(options.operator), imageFile(home));
  const groups = await fill(home, canaries);
  const controlDirectory = join(home.dir, 'control');
  await mkdir(join(controlDirectory, 'group'), { recursive: true });
  await copyDatabase(home, join(controlDirectory, 'store'));
  return { home, canaries, ...groups, controlDirectory, stores: openStores(home, Date.now) };
};

export const makeScratch = async (options: ScratchOptions): Promise<Scratch> => {
  const home = homeAt(await mkdtemp(join(tmpdir(), runPrefix(process.pid))));
  const remove = (): Promise<void> => rm(home.dir, { recursive: true, force: true });
  try {
    const scratch = await build(home, options);
    return {
      ...scratch,
      close: async () => {
        scratch.stores.close();
        await remove();
      },
    };
  } catch (thrown) {
    await remove();
    throw thrown;
  }
};
