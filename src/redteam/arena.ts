/** One tier's ground: how a probe speaks to the scratch home's supervisor and looks at what became of it. */
import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir, totalmem } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { App } from '../app.ts';
import type { Group } from '../domain/group.ts';
import { LABELS } from '../domain/plan.ts';
import type { TierName } from '../domain/tiers.ts';
import { AppError } from '../errors.ts';
import { groupDirectory } from '../home.ts';
import type { ChatEvent } from '../ops/control-protocol.ts';
import type { Engine } from '../runtimes/engine.ts';
import { readAudit } from './audit-lines.ts';
import { absentCapabilities } from './control-privileges.ts';
import type { LagMeter } from './lag.ts';
import { PROBES_FOLDER } from './lay-out.ts';
import { runPrefix } from './leftovers.ts';
import type { Arena, RuntimeName, Targets, TurnEnd } from './probe.ts';
import { memoryShare, type Scratch } from './scratch.ts';
import type { Witness } from './witness.ts';

export interface Grounds {
  readonly app: App;
  readonly engine: Engine;
  readonly scratch: Scratch;
  readonly witness: Witness;
  readonly lag: LagMeter;
  readonly runtime: RuntimeName;
  readonly signal: AbortSignal;
}

export interface OpenArena extends Arena {
  /** From now on `audit`, `lagMs` and `upstreamRequests` count anew. */
  begin(): Promise<void>;
  close(): Promise<void>;
}

const SESSION = 'default';
const RUNNING_WITHIN_MS = 20_000;
const POLL_MS = 25;

const endOf = (events: readonly ChatEvent[], startedMs: number): TurnEnd => {
  const done = events.find((event) => event.kind === 'done');
  if (done === undefined)
    throw new AppError({ code: 'internal', message: 'a probe’s turn was never told to have ended' });
  const messages = events.flatMap((event) => (event.kind === 'message' ? [event.text] : []));
  const { invocation, reason, detail, reply } = done;
  return { invocation, reason, detail, reply: reply ?? '', messages, elapsedMs: performance.now() - startedMs };
};

const say = async ({ app, signal }: Grounds, group: Group, text: string): Promise<TurnEnd> => {
  const startedMs = performance.now();
  const events: ChatEvent[] = [];
  for await (const event of app.supervisor.chat({ group: group.id, text }, signal)) events.push(event);
  return endOf(events, startedMs);
};

/** What earlier probes printed is no part of it. */
const sayAnew = (grounds: Grounds, group: Group, text: string): Promise<TurnEnd> => {
  grounds.scratch.stores.sessions.startEpoch(group.id, SESSION);
  return say(grounds, group, text);
};

/** A probe that gives up while a turn is under way leaves its promise behind; an interruption must not end the process by it. */
const watched = (turn: Promise<TurnEnd>): Promise<TurnEnd> => {
  turn.catch(() => undefined);
  return turn;
};

const PROGRAMS = { bash: 'bash', python: '/usr/bin/python3', node: 'node' } as const;
const ENDINGS = { bash: 'sh', python: 'py', node: 'mjs' } as const;

const runScript = async (
  grounds: Grounds,
  group: Group,
  script: { readonly language: keyof typeof PROGRAMS; readonly source: string },
): Promise<TurnEnd> => {
  const directory = join(groupDirectory(grounds.scratch.home, group.folder), PROBES_FOLDER);
  await mkdir(directory, { recursive: true, mode: 0o755 });
  const name = `${randomBytes(8).toString('hex')}.${ENDINGS[script.language]}`;
  await writeFile(join(directory, name), script.source, { flag: 'wx', mode: 0o644 });
  return sayAnew(grounds, group, `run: ${PROGRAMS[script.language]} /workspace/group/${PROBES_FOLDER}/${name}`);
};

const findRunning = async ({ app, engine }: Grounds, group: Group) => {
  const found = app.supervisor.status().running.find((turn) => turn.group === group.id);
  if (found === undefined) return null;
  const filters = { label: [`${LABELS.invocation}=${found.invocation}`] };
  const [container] = await engine.quick.listContainers({ filters });
  return container === undefined ? null : { invocation: found.invocation, container: container.Id };
};

const waitRunning = async (grounds: Grounds, group: Group) => {
  const until = performance.now() + RUNNING_WITHIN_MS;
  while (performance.now() < until) {
    const found = await findRunning(grounds, group);
    if (found !== null) return found;
    await sleep(POLL_MS, undefined, { signal: grounds.signal });
  }
  throw new AppError({ code: 'timeout', message: `no turn of ${group.id} was running within 20 s` });
};

const need = (groups: ReadonlyMap<TierName, Group>, tier: TierName): Group => {
  const group = groups.get(tier);
  if (group === undefined)
    throw new AppError({ code: 'internal', message: `the scratch home has no group of ${tier}` });
  return group;
};

/** Where the counting of a probe starts. */
interface Mark {
  lines: number;
  requests: number;
  startedMs: number;
}

const looking = ({ scratch, witness, lag }: Grounds) => {
  const mark: Mark = { lines: 0, requests: 0, startedMs: performance.now() };
  return {
    begin: async (): Promise<void> => {
      const lines = (await readAudit(scratch.home)).length;
      Object.assign(mark, { lines, requests: witness.requests.length, startedMs: performance.now() });
    },
    audit: async () => (await readAudit(scratch.home)).slice(mark.lines),
    lagMs: () => lag.since(mark.startedMs),
    upstreamRequests: () => witness.requests.slice(mark.requests),
  };
};

export const openArena = (grounds: Grounds, tier: TierName, targets: Targets): OpenArena => {
  const { scratch, engine, runtime, signal } = grounds;
  const outsides: string[] = [];
  return {
    tier,
    runtime,
    home: scratch.home,
    attacker: need(scratch.attackers, tier),
    victim: need(scratch.victims, tier),
    targets,
    canaries: scratch.canaries,
    controlModelPort: grounds.witness.controlModelPort,
    controlRequests: () => grounds.witness.controlRequests,
    signal,
    stores: scratch.stores,
    say: (group, text, how) => watched((how === 'continued' ? say : sayAnew)(grounds, group, text)),
    script: (group, language, source) => watched(runScript(grounds, group, { language, source })),
    running: (group) => waitRunning(grounds, group),
    inspect: (container) => engine.quick.getContainer(container).inspect(),
    outside: async () => {
      const directory = await mkdtemp(join(tmpdir(), `${runPrefix(process.pid)}outside-`));
      outsides.push(directory);
      return directory;
    },
    ...looking(grounds),
    close: async () => {
      for (const directory of outsides) await rm(directory, { recursive: true, force: true });
    },
  };
};

/** What the probes of a tier are told of where they are. */
export const targetsOf = (scratch: Scratch, witness: Witness, at: { hostAddress: string; tier: TierName }): Targets => {
  const [own, victim] = [need(scratch.attackers, at.tier), need(scratch.victims, at.tier)];
  return {
    hostAddress: at.hostAddress,
    hostPort: witness.hostPort,
    hostUdpPort: witness.hostUdpPort,
    hasNameServer: witness.hasNameServer,
    absentCapabilities: absentCapabilities(),
    loopbackPort: witness.loopbackPort,
    victimFolder: victim.folder,
    victimChat: victim.id,
    ownFolder: own.folder,
    ownChat: own.id,
    memoryCeilingMb: Math.round((memoryShare() * totalmem()) / (1024 * 1024)),
    homeDir: scratch.home.dir,
  };
};
