/**
 * Makes a plan real on the host: directories with the right owner, persona, database, IPC, socket. Decides nothing
 * about rights, and never follows a link that a container could have planted: what lies in a directory that some
 * container can write is read through the component walk.
 */
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { composeInstructions } from '../domain/instructions.ts';
import { toHost } from '../domain/paths.ts';
import type { InvocationPlan, PlannedMount } from '../domain/plan.ts';
import { tierRow } from '../domain/tiers.ts';
import { AppError } from '../errors.ts';
import { openDirectory } from '../files/beneath.ts';
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
const readPlanted = async (directory: string, name: string): Promise<string | null> => {
  const opened = await openDirectory(directory);
  try {
    const read = await opened.readFile([name], INSTRUCTION_BYTES_MAX);
    if (read.ok) return read.value.toString('utf8');
    if (read.reason === 'missing') return null;
    throw new AppError({
      code: 'config',
      message: `${join(directory, name)} can't be used: ${read.detail}`,
      hint: 'replace the file, then send the message again',
    });
  } finally {
    await opened.close();
  }
};

const persona = async (plan: InvocationPlan, home: Home): Promise<string> => {
  const name = plan.rights.persona === 'public' ? 'SOUL-untrusted.md' : 'SOUL.md';
  const text = await readPlanted(home.global, name);
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

const stageStore = ({ plan, notBefore }: StageRequest, mount: PlannedMount, copier: Copier): Promise<void> => {
  const target = join(mount.source, 'messages.db');
  return mount.content === 'filtered-store'
    ? copier.filtered(plan.group.id, target)
    : copier.linkPublished(target, { notBefore });
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

/** The group's own instructions lie where its container sees them. */
const groupInstructions = async ({ mounts }: InvocationPlan): Promise<string | null> => {
  const place = toHost(mounts, '/workspace/group');
  return place.ok ? readPlanted(place.host, 'CLAUDE.md') : null;
};

const instructionsOf = async (plan: InvocationPlan, deps: StageDeps, tiles: ComposedTiles): Promise<string> =>
  composeInstructions(tierRow(plan.tier), {
    trustWarning: deps.trustWarning,
    persona: await persona(plan, deps.home),
    home: await readPlanted(deps.home.global, 'CLAUDE.md'),
    rules: tiles.rules,
    group: await groupInstructions(plan),
  });

export const stage = async (request: StageRequest, deps: StageDeps): Promise<Staged> => {
  const { plan, directories } = request;
  const [tiles, speaksAs] = await Promise.all([deps.tiles.compose(tierRow(plan.tier)), persona(plan, deps.home)]);
  await makeTurnDirectory(directories.turn);
  for (const mount of plan.mounts) await stageMount(plan, mount, speaksAs);
  const store = plan.mounts.filter(({ content }) => content === 'published-store' || content === 'filtered-store');
  const work = Promise.all(store.map((mount) => stageStore(request, mount, deps.copier))).then(() => undefined);
  return { instructions: await instructionsOf(plan, deps, tiles), store: settle(work) };
};
