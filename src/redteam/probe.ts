/**
 * What a probe is: one attack, where it must fail and why. Expectations stand here by name and are never derived from
 * the tier table, so that a row that gives too much turns the matrix red. Pure types and constructors: the file is
 * bundled for the container as well.
 */
import type { Group } from '../domain/group.ts';
import type { TierName } from '../domain/tiers.ts';
import type { Home } from '../home.ts';
import type { Stores } from '../store/stores.ts';

/** Runtimes that the suite can judge. A new one makes every probe say what it expects there. */
export const RUNTIME_NAMES = ['runc'] as const;
export type RuntimeName = (typeof RUNTIME_NAMES)[number];

/** What an attempt found. `reached`: the attack got what it wanted. Evidence: one line, what was seen. */
export interface Finding {
  readonly reached: boolean;
  readonly evidence: string;
}

/** Said by a control alone: this machine has no such thing (a kernel without it), so nothing can be shown about it. */
export interface Missing {
  readonly missing: string;
}

export type Outcome = Finding | Missing;

export const held = (evidence: string): Finding => ({ reached: false, evidence });
export const reached = (evidence: string): Finding => ({ reached: true, evidence });
export const missing = (what: string): Missing => ({ missing: what });

export type Topic =
  | 'secrets'
  | 'privileges'
  | 'kernel'
  | 'processes'
  | 'files'
  | 'database'
  | 'network'
  | 'gateway'
  | 'limits'
  | 'messages'
  | 'host';

interface About {
  /** Kebab-case; the name of its file in `probes/`. */
  readonly id: string;
  readonly topic: Topic;
  /** What is tried, as "to …", one sentence. */
  readonly tries: string;
  /** Why it must fail: what stops it. */
  readonly why: string;
  /** The tiers in which it must fail, per runtime: one of the named sets of `domain/tiers.ts`. */
  readonly expected: Readonly<Record<RuntimeName, readonly TierName[]>>;
  /** Why the other tiers may do it; needed exactly where `expected` leaves one out. */
  readonly elsewhere?: string;
}

/**
 * `plain`: what `docker run` gives root in the same image, on the default bridge, with the engine's socket and what is
 * planted mounted. `privileged`: with `--privileged` as well. `host`: in the host's process and network namespaces,
 * too; what runs there must only look.
 */
export const CONTROL_PROFILES = ['plain', 'privileged', 'host'] as const;
export type ControlProfile = (typeof CONTROL_PROFILES)[number];

export type Control =
  | { readonly kind: 'container'; readonly profile: ControlProfile }
  /** Done on the host: what a naive supervisor would do in the place of ours must fall for the attack. */
  | { readonly kind: 'naive'; readonly run: (arena: Arena) => Promise<Outcome> }
  | { readonly kind: 'none'; readonly reason: string };

export const plainContainer: Control = { kind: 'container', profile: 'plain' };
export const privilegedContainer: Control = { kind: 'container', profile: 'privileged' };
export const hostContainer: Control = { kind: 'container', profile: 'host' };
export const noControl = (reason: string): Control => ({ kind: 'none', reason });

/** What an attempt may use in the container. Programs are started without a shell, bounded in time and output. */
export interface Kit {
  /** Runs Python 3 source; its trimmed stdout, or `error: …` where it ended badly. */
  python(source: string, timeoutMs?: number): Promise<string>;
  /** Runs bash source, both streams together. */
  bash(source: string, timeoutMs?: number): Promise<{ readonly status: number | null; readonly output: string }>;
  /** Writes bytes to the turn's gateway as any client in the container can, and reads until it closes or falls silent. */
  exchange(request: string, silenceMs?: number): Promise<string>;
  /** The names of the canaries that a text or its bytes hold. */
  canariesIn(text: string | Uint8Array): readonly Canary[];
  readonly targets: Targets;
}

/**
 * Random texts that the host has planted, by where: a secret of `.env`, the model provider's key, another provider's
 * key, a message in another chat, a file in another group's folder, in another agent's workspace, in the shared memory,
 * in the owner's `SOUL.md`. Each reads `tc-canary-<name>-<24 hex digits>`.
 */
export const CANARIES = [
  'env-secret',
  'model-key',
  'decoy-key',
  'victim-message',
  'victim-folder',
  'victim-agent',
  'shared-memory',
  'owner-soul',
] as const;
export type Canary = (typeof CANARIES)[number];

/** What a service of the host says that no container may reach. */
export const WITNESS = 'tc-witness-of-the-host';

/** Handed in by the host with each run, the same for a turn and for its control. Holds no canary itself. */
export interface Targets {
  /** An address of the host that an ordinary container reaches (its bridge), and what listens there. */
  readonly hostAddress: string;
  /** TCP, answers every connection with an HTTP answer whose body is WITNESS, whatever is asked. */
  readonly hostPort: number;
  /** UDP, answers each datagram with WITNESS. */
  readonly hostUdpPort: number;
  /** Whether a name server stands at the host's address, port 53, for the time of the run. */
  readonly hasNameServer: boolean;
  /** Capabilities that nothing on this machine has, the engine included: `SYS_RESOURCE` … */
  readonly absentCapabilities: readonly string[];
  /** The same on the host's 127.0.0.1. */
  readonly loopbackPort: number;
  readonly victimFolder: string;
  readonly victimChat: string;
  readonly ownFolder: string;
  readonly ownChat: string;
  /** The scratch home's ceiling of a container's memory. */
  readonly memoryCeilingMb: number;
  /** Absolute host paths, for guesses that a leaked layout would allow. */
  readonly homeDir: string;
}

/** An attack from inside a turn's container, through the whole walk: message, model, bash tool. */
export interface InsideProbe extends About {
  readonly kind: 'inside';
  readonly control: Control;
  /** Runs in the container, and again in the control's. Must undo what it did. */
  readonly attempt: (kit: Kit) => Promise<Outcome>;
  /** In a turn of its own, because the turn may end by it. `after` then judges; no finding from inside is fine. */
  readonly ownTurn?: true;
  /** What the host sees after the turn: audit lines, end reason, files outside. Either finding may say `reached`. */
  readonly after?: (arena: Arena, turn: TurnEnd) => Promise<Finding>;
  /** It uses something up that the tier's other probes need: it comes after all of them. Goes with `ownTurn`. */
  readonly last?: true;
}

/** An attack on the host's own code; does its own turns, plants what a container would have left, and looks. */
export interface HostProbe extends About {
  readonly kind: 'host';
  readonly control: Control;
  readonly attempt: (arena: Arena) => Promise<Outcome>;
}

/** Named, so that the list is whole; its feature isn't built. */
export interface AbsentProbe extends Omit<About, 'expected' | 'elsewhere'> {
  readonly kind: 'absent';
  /** Which feature is missing. */
  readonly reason: string;
}

export type Probe = InsideProbe | HostProbe | AbsentProbe;

export interface TurnEnd {
  readonly invocation: string;
  /** An end reason: completed, failed, timeout, oom, disk, output, cancelled, engine-lost. */
  readonly reason: string;
  readonly detail: string | null;
  /** The final answer, '' without one. With `run:` it is the command's output and exit code, verbatim. */
  readonly reply: string;
  /** All texts sent into the chat during the turn. */
  readonly messages: readonly string[];
  readonly elapsedMs: number;
}

export interface AuditLine {
  readonly kind: string;
  readonly group?: string;
  readonly invocation?: string;
  readonly [detail: string]: unknown;
}

export interface UpstreamRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
}

/** One tier's ground in the scratch home. Everything here may be destroyed; nothing else may be touched. */
export interface Arena {
  readonly tier: TierName;
  readonly runtime: RuntimeName;
  readonly home: Home;
  /** The hostile group of this tier. */
  readonly attacker: Group;
  /** Another tier's (or the same tier's) group with an agent of its own; holds the canaries. */
  readonly victim: Group;
  readonly targets: Targets;
  /** Where the controls' own stand-in for the model's provider listens on the host's loopback, and what it has received. */
  readonly controlModelPort: number;
  controlRequests(): readonly UpstreamRequest[];
  /** The planted texts themselves. */
  readonly canaries: Readonly<Record<Canary, string>>;
  /**
   * Requests that the model provider's stand-in has received since this probe began, those of other tiers' turns among
   * them; headers with lower-case names.
   */
  upstreamRequests(): readonly UpstreamRequest[];
  readonly signal: AbortSignal;
  /**
   * A message into that group's chat; resolves when its turn has ended. Each begins a conversation of its own;
   * `continued`: it goes on with the last one.
   */
  say(group: Group, text: string, how?: 'continued'): Promise<TurnEnd>;
  /** The scratch home's own records, to look things up in. */
  readonly stores: Stores;
  /**
   * Puts a script into the group's folder from the host's side and runs it in a turn by the bash tool.
   * `python`: /usr/bin/python3, `node`: an ES module, `bash`: bash.
   */
  script(group: Group, language: 'bash' | 'python' | 'node', source: string): Promise<TurnEnd>;
  /** While a turn of that group runs: its invocation id and the engine's container id. Waits up to 20 s. */
  running(group: Group): Promise<{ readonly invocation: string; readonly container: string }>;
  /** What the engine's inspect says, parsed JSON. */
  inspect(container: string): Promise<unknown>;
  /** Audit lines since this probe began. */
  audit(): Promise<readonly AuditLine[]>;
  /** Longest delay of this process's event loop since this probe began. The runner checks it against 100 ms anyway. */
  lagMs(): number;
  /** A new private directory outside the home for things that must stay untouched; gone after the run. */
  outside(): Promise<string>;
}
