/**
 * Makes a plan real on the host: directories with the right owner, persona, database, IPC, socket. Decides nothing
 * about rights, and never follows a link that a container could have planted: what lies in a directory that some
 * container can write is read through the component walk.
 */
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Audit } from '../audit.ts';
import { composeInstructions } from '../domain/instructions.ts';
import { toHost } from '../domain/paths.ts';
import type { InvocationPlan, MountContent, PlannedMount } from '../domain/plan.ts';
import { tierRow } from '../domain/tiers.ts';
import { AppError } from '../errors.ts';
import { openDirectory } from '../files/beneath.ts';
import { type Found, found } from '../files/refusal.ts';
import { makeOwnedDirectory } from '../files/tree.ts';
import type { Home, TurnDirectories } from '../home.ts';
import type { Copier } from '../store/copier.ts';
import type { ComposedTiles, Tiles } from './tiles.ts';

/** A persona or instructions file: far more than a model should be told at every turn. */
const INSTRUCTION_BYTES_MAX = 256 * 1024;

export interface StageDeps {
  readonly home: Home;
  readonly copier: Copier;
  readonly tiles: Tiles;
  readonly audit: Audit;
  /** Operator-owned: the text that comes first where the persona is public. */
  readonly trustWarning: string;
}

export interface StageRequest {
  readonly plan: InvocationPlan;
  readonly directories: TurnDirectories;
  /** The database holds what was accepted up to then, ms since 1970. */
  readonly notBefore: number;
}

export interface Staged {
  readonly instructions: string;
  /** The database lies in its place; the container waits for the file before its first tool call. Never rejects. */
  readonly store: Promise<{ readonly ok: true } | { readonly ok: false; readonly error: unknown }>;
}

/** Text of one file in a directory that a container may have written; null: it isn't there. */
const readPlanted = async (directory: string, name: string): Promise<Found<string | null>> => {
  const opened = await openDirectory(directory);
  try {
    const read = await opened.readFile([name], INSTRUCTION_BYTES_MAX);
    if (read.ok) return found(read.value.toString('utf8'));
    return read.reason === 'missing' ? found(null) : read;
  } finally {
    await opened.close();
  }
};

interface Staging {
  readonly plan: InvocationPlan;
  readonly home: Home;
  readonly audit: Audit;
}

const recordRefusal = ({ plan, audit }: Staging, detail: string): void => {
  const { group, invocation, tier } = plan;
  audit.record({ kind: 'instructions-refused', group: group.id, invocation, tier, detail });
};

/** A text of the home's own: a turn doesn't go on without it when something else stands in its place. */
const readRequired = async (staging: Staging, name: string): Promise<string | null> => {
  const directory = staging.home.global;
  const read = await readPlanted(directory, name);
  if (read.ok) return read.value;
  recordRefusal(staging, read.detail);
  throw new AppError({
    code: 'config',
    message: `${join(directory, name)} can't be used: ${read.detail}`,
    hint: 'replace the file, then send the message again',
  });
};

const persona = async (staging: Staging): Promise<string> => {
  const { plan, home } = staging;
  const name = plan.rights.persona === 'public' ? 'SOUL-untrusted.md' : 'SOUL.md';
  const text = await readRequired(staging, name);
  if (text !== null && text.trim() !== '') return text;
  throw new AppError({
    code: 'config',
    message: `${join(home.global, name)} is ${text === null ? 'missing' : 'empty'}; every turn of this tier speaks as it`,
    hint: 'tierclaw init writes a first version',
  });
};

/** A directory of this turn's own: written by the host, readable by anyone, writable by nobody else. */
const makeTurnDirectory = async (path: string): Promise<void> => {
  await mkdir(path, { recursive: true });
  await chmod(path, 0o755); // The umask of the supervisor must not hide it from the container.
};

const writeReadable = async (path: string, text: string): Promise<void> => {
  await writeFile(path, text, { flag: 'wx' });
  await chmod(path, 0o644);
};

const STORES: ReadonlySet<MountContent> = new Set(['filtered-store', 'published-store']);

const stageStore = ({ plan, notBefore }: StageRequest, mount: PlannedMount, copier: Copier): Promise<void> => {
  const target = join(mount.source, 'messages.db');
  return mount.content === 'filtered-store'
    ? copier.filtered(plan.group.id, target)
    : copier.linkPublished(target, { notBefore });
};

/** Puts the database of this moment in its place; a container that has the last one open keeps it. */
export const stageStores = async (request: StageRequest, { copier }: StageDeps): Promise<void> => {
  const mounts = request.plan.mounts.filter(({ content }) => STORES.has(content));
  await Promise.all(mounts.map((mount) => stageStore(request, mount, copier)));
};

const settle = (work: Promise<void>): Staged['store'] =>
  work.then(
    () => ({ ok: true }) as const,
    (error: unknown) => ({ ok: false, error }) as const,
  );

/** Directories of every kind but IPC, which its inbox makes; in the order of the plan. */
const stageMount = async (plan: InvocationPlan, mount: PlannedMount, publicPersona: string): Promise<void> => {
  switch (mount.content) {
    case 'kept':
      return makeOwnedDirectory(mount.source, { mode: 0o755, ...(mount.mode === 'rw' ? { uid: plan.uid } : {}) });
    case 'public-persona':
      await makeTurnDirectory(mount.source);
      return writeReadable(join(mount.source, 'SOUL.md'), publicPersona);
    case 'published-store':
    case 'filtered-store':
    case 'socket':
      return makeTurnDirectory(mount.source);
    case 'tiles':
    case 'ipc':
    case 'ipc-messages':
    case 'ipc-input':
      return;
    default:
      mount.content satisfies never;
  }
};

/**
 * The group's own instructions lie where its container sees them, and may have written them: what stands in their
 * place is not read, on record and said to the agent; the chat is not to be silenced by it.
 */
const groupInstructions = async (staging: Staging): Promise<string | null> => {
  const place = toHost(staging.plan.mounts, '/workspace/group');
  if (!place.ok) return null;
  const read = await readPlanted(place.host, 'CLAUDE.md');
  if (read.ok) return read.value;
  recordRefusal(staging, read.detail);
  return `The instructions in /workspace/group could not be used: ${read.detail}.`;
};

const instructionsOf = async (plan: InvocationPlan, deps: StageDeps, tiles: ComposedTiles): Promise<string> =>
  composeInstructions(tierRow(plan.tier), {
    trustWarning: deps.trustWarning,
    persona: await persona({ ...deps, plan }),
    home: await readRequired({ ...deps, plan }, 'CLAUDE.md'),
    rules: tiles.rules,
    group: await groupInstructions({ ...deps, plan }),
  });

export const stage = async (request: StageRequest, deps: StageDeps): Promise<Staged> => {
  const { plan, directories } = request;
  const [tiles, speaksAs] = await Promise.all([deps.tiles.compose(tierRow(plan.tier)), persona({ ...deps, plan })]);
  await makeTurnDirectory(directories.turn);
  for (const mount of plan.mounts) await stageMount(plan, mount, speaksAs);
  return { instructions: await instructionsOf(plan, deps, tiles), store: settle(stageStores(request, deps)) };
};
