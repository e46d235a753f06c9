/**
 * THE tier table (DESIGN §3). The tier names are literals here and nowhere else in `src/`; everybody else asks
 * `tierRow(name)` and reads fields. One line per right, one column per tier; a change of rights is a visible diff of
 * this file and of its golden test.
 */
import { z } from 'zod';
import type { Egress } from './egress.ts';

export const TIER_NAMES = ['main', 'trusted', 'untrusted'] as const;
export const TierName = z.enum(TIER_NAMES);
export type TierName = z.infer<typeof TierName>;

/** What a group gets that nobody has given a tier. */
export const DEFAULT_TIER: TierName = 'untrusted';
/** The tier that exactly one group has. */
export const SOLE_TIER: TierName = 'main';

/** The folder of the shared memory, in a home and as `/workspace/trusted`. */
export const SHARED_MEMORY_FOLDER = 'trusted';

/**
 * Sets of tiers that the red team names in what it expects: written out, never read off the table below, so that a row
 * that gives too much is seen.
 */
export const EVERY_TIER: readonly TierName[] = TIER_NAMES;
export const GUEST_TIERS: readonly TierName[] = ['trusted', 'untrusted'];
export const INSIDER_TIERS: readonly TierName[] = ['main', 'trusted'];
export const OUTSIDER_TIERS: readonly TierName[] = ['untrusted'];

export type MountMode = 'ro' | 'rw' | 'none';

export interface TierMounts {
  readonly group: MountMode;
  /** `public-persona`: a directory of this turn's own with one file, the sanitized identity as `SOUL.md`, read-only. */
  readonly global: 'rw' | 'ro' | 'public-persona';
  readonly trusted: MountMode;
  /** `published`: the whole store; `filtered`: this chat's rows alone. Read-only either way. */
  readonly store: 'published' | 'filtered';
  /** `whole`: one rw directory; `split`: `messages/` rw and `input/` ro as mounts of their own, nothing else. */
  readonly ipc: 'whole' | 'split';
  readonly tiles: 'ro';
  readonly agent: MountMode;
  /** The most that a grant onto a sibling's workspace may become. */
  readonly agents: MountMode;
  readonly socket: 'ro';
}

export interface TierLimits {
  readonly rootfs: 'writable' | 'read-only';
  /** `/tmp` as tmpfs with these bounds; null: `/tmp` is part of the writable root. */
  readonly tmp: { readonly bytes: number; readonly inodes: number } | null;
  readonly ipcNamespace: 'private' | 'none';
  /** null: none of the tier's own; the home's host-protection ceiling still holds. */
  readonly memoryBytes: number | null;
  /** False: no swap beyond `memoryBytes`. */
  readonly swap: boolean;
  readonly cpus: number | null;
  readonly pids: number | null;
  /** Largest file the container may write (ulimit fsize). */
  readonly fileBytes: number | null;
  /** Hard, from dispatch, whatever the container prints. */
  readonly wallMs: number | null;
}

export interface TierRights {
  readonly readsMessages: 'all' | 'own-chat';
  readonly databaseWrite: boolean;
  readonly mayAddress: 'any-chat' | 'own-chat';
  readonly environmentCredentials: 'all' | 'marked' | 'none';
  readonly otherCredentials: 'all' | 'marked' | 'none';
  readonly stagingOverrides: boolean;
  readonly persona: 'owner' | 'public';
  readonly sharedMemory: boolean;
  readonly autoMemory: boolean;
  readonly scheduleTasks: 'any-group' | 'own-group' | 'none';
  readonly manageGroups: boolean;
  readonly subAgents: boolean;
  readonly shell: boolean;
  readonly fileTools: boolean;
  readonly browser: boolean;
  readonly network: 'sealed';
}

/** Model caps (DESIGN §5): what the gateway lets through per request and at once. */
export interface TierModelCaps {
  readonly requestsPerMinute: number;
  readonly concurrent: number;
  readonly maxTokens: number;
  readonly bodyBytes: number;
  /** Per group and UTC day, input and output together; null: no cap. */
  readonly tokensPerDay: number | null;
  readonly usdPerDay: number | null;
}

/** What places that a container can write may hold (DESIGN §4), kept by measuring; null: no quota. */
export interface TierQuotas {
  /** Each writable directory that outlives the turn: bytes on disk, and entries of every kind. */
  readonly mountBytes: number | null;
  readonly mountFiles: number | null;
  /** The turn's own exchange with the host. */
  readonly ipcBytes: number | null;
  readonly ipcFiles: number | null;
  /** The writable layer of the root filesystem. */
  readonly rootBytes: number | null;
  readonly rootFiles: number | null;
}

export interface TierRow {
  readonly name: TierName;
  readonly mounts: TierMounts;
  readonly limits: TierLimits;
  readonly rights: TierRights;
  readonly model: TierModelCaps;
  readonly egress: Egress;
  readonly quotas: TierQuotas;
  /** Tiles in load order; a later one overrides an earlier one. The last is the tier's own and must be there. */
  readonly tiles: readonly string[];
}

type Columns<T> = { readonly [K in keyof T]: Readonly<Record<TierName, T[K]>> };

const MIB = 1024 * 1024;
const GIB = 1024 * MIB;

const MOUNTS: Columns<TierMounts> = {
  group: /*   */ { main: 'rw', /*       */ trusted: 'rw', /*       */ untrusted: 'ro' },
  global: /*  */ { main: 'rw', /*       */ trusted: 'ro', /*       */ untrusted: 'public-persona' },
  trusted: /* */ { main: 'rw', /*       */ trusted: 'rw', /*       */ untrusted: 'none' },
  store: /*   */ { main: 'published', /**/ trusted: 'published', /**/ untrusted: 'filtered' },
  ipc: /*     */ { main: 'whole', /*    */ trusted: 'whole', /*    */ untrusted: 'split' },
  tiles: /*   */ { main: 'ro', /*       */ trusted: 'ro', /*       */ untrusted: 'ro' },
  agent: /*   */ { main: 'rw', /*       */ trusted: 'rw', /*       */ untrusted: 'ro' },
  agents: /*  */ { main: 'rw', /*       */ trusted: 'rw', /*       */ untrusted: 'none' },
  socket: /*  */ { main: 'ro', /*       */ trusted: 'ro', /*       */ untrusted: 'ro' },
};

const LIMITS: Columns<TierLimits> = {
  rootfs: { main: 'writable', trusted: 'writable', untrusted: 'read-only' },
  tmp: { main: null, trusted: null, untrusted: { bytes: 64 * MIB, inodes: 16_384 } },
  ipcNamespace: { main: 'private', trusted: 'private', untrusted: 'none' },
  memoryBytes: { main: null, trusted: null, untrusted: 512 * MIB },
  swap: { main: true, trusted: true, untrusted: false },
  cpus: { main: null, trusted: null, untrusted: 1 },
  pids: { main: null, trusted: null, untrusted: 256 },
  fileBytes: { main: null, trusted: null, untrusted: 64 * MIB },
  wallMs: { main: null, trusted: null, untrusted: 300_000 },
};

const RIGHTS: Columns<TierRights> = {
  readsMessages: { main: 'all', trusted: 'all', untrusted: 'own-chat' },
  databaseWrite: { main: true, trusted: false, untrusted: false },
  mayAddress: { main: 'any-chat', trusted: 'own-chat', untrusted: 'own-chat' },
  environmentCredentials: { main: 'all', trusted: 'marked', untrusted: 'none' },
  otherCredentials: { main: 'all', trusted: 'marked', untrusted: 'none' },
  stagingOverrides: { main: true, trusted: true, untrusted: false },
  persona: { main: 'owner', trusted: 'owner', untrusted: 'public' },
  sharedMemory: { main: true, trusted: true, untrusted: false },
  autoMemory: { main: true, trusted: true, untrusted: false },
  scheduleTasks: { main: 'any-group', trusted: 'own-group', untrusted: 'none' },
  manageGroups: { main: true, trusted: false, untrusted: false },
  subAgents: { main: true, trusted: true, untrusted: false },
  shell: { main: true, trusted: true, untrusted: true },
  fileTools: { main: true, trusted: true, untrusted: true },
  browser: { main: true, trusted: true, untrusted: true },
  network: { main: 'sealed', trusted: 'sealed', untrusted: 'sealed' },
};

const MODEL: Columns<TierModelCaps> = {
  requestsPerMinute: { main: 200, trusted: 200, untrusted: 20 },
  concurrent: { main: 20, trusted: 20, untrusted: 2 },
  maxTokens: { main: 80_000, trusted: 80_000, untrusted: 8_000 },
  bodyBytes: { main: 40 * MIB, trusted: 40 * MIB, untrusted: 4 * MIB },
  tokensPerDay: { main: 2_000_000, trusted: 2_000_000, untrusted: 200_000 },
  usdPerDay: { main: 10, trusted: 10, untrusted: 1 },
};

/** The web's ports; any address that is plainly public. */
const WEB_PORTS = [80, 443] as const;

const EGRESS: Columns<Egress> = {
  policy: { main: 'public', trusted: 'public', untrusted: 'public' },
  allow: { main: [], trusted: [], untrusted: [] },
  ports: { main: WEB_PORTS, trusted: WEB_PORTS, untrusted: WEB_PORTS },
  deny: { main: [], trusted: [], untrusted: [] },
  connections: { main: 48, trusted: 48, untrusted: 24 },
  connectionsPerMinute: { main: 1200, trusted: 1200, untrusted: 240 },
  bytesPerTurn: { main: 4096 * MIB, trusted: 4096 * MIB, untrusted: 128 * MIB },
};

/** Where the untrusted tier has no such place, the quota is what one would get that was made writable by mistake. */
const QUOTAS: Columns<TierQuotas> = {
  mountBytes: { main: 20 * GIB, trusted: 5 * GIB, untrusted: 64 * MIB },
  mountFiles: { main: 1_000_000, trusted: 500_000, untrusted: 2_000 },
  ipcBytes: { main: 256 * MIB, trusted: 256 * MIB, untrusted: 64 * MIB },
  ipcFiles: { main: 4_000, trusted: 4_000, untrusted: 2_000 },
  rootBytes: { main: 20 * GIB, trusted: 5 * GIB, untrusted: 64 * MIB },
  rootFiles: { main: 1_000_000, trusted: 500_000, untrusted: 2_000 },
};

const TILES: Readonly<Record<TierName, readonly string[]>> = {
  main: ['core', 'trusted', 'admin'],
  trusted: ['core', 'trusted'],
  untrusted: ['core', 'untrusted'],
};

const column = <T>(columns: Columns<T>, tier: TierName): T =>
  Object.fromEntries(
    Object.entries(columns as Record<string, Record<TierName, unknown>>).map(([field, byTier]) => [
      field,
      byTier[tier],
    ]),
  ) as T;

const rowOf = (name: TierName): TierRow => ({
  name,
  mounts: column(MOUNTS, name),
  limits: column(LIMITS, name),
  rights: column(RIGHTS, name),
  model: column(MODEL, name),
  quotas: column(QUOTAS, name),
  egress: column(EGRESS, name),
  tiles: TILES[name],
});

const ROWS: Readonly<Record<TierName, TierRow>> = {
  main: rowOf('main'),
  trusted: rowOf('trusted'),
  untrusted: rowOf('untrusted'),
};

/** The row of that tier; the only way to learn what a tier may. */
export const tierRow = (name: TierName): TierRow => ROWS[name];
