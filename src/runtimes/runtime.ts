/** The runtime port: where an invocation runs. One implementation per file; nothing here knows an engine's words. */
import type { ContainerSpec } from '../domain/plan.ts';

/** Called from the attach stream, never before `start` has resolved. It never pauses: these must return at once. */
export interface OutputSink {
  stdout(chunk: Buffer): void;
  stderr(chunk: Buffer): void;
}

export interface ExitReport {
  readonly exitCode: number;
  readonly oomKilled: boolean;
  /** True where the engine could not be asked (it went away): code and oom are then unknown. */
  readonly engineLost: boolean;
}

export interface RunningContainer {
  readonly id: string;
  /** Writes to the container's stdin, which stays open all turn. Never throws; a gone container swallows it. */
  write(line: string): void;
  /** Settles once, when the container's process has ended or the engine is lost. Never rejects. */
  readonly exited: Promise<ExitReport>;
  /** From now on output is read and thrown away. */
  discardOutput(): void;
  /**
   * Where the writable layer of its root filesystem lies on this machine, written by the container; null: it can't be
   * seen from here. Throws AppError `engine`.
   */
  layerDirectory(): Promise<string | null>;
  /** Bytes in that layer as the engine counts them: slow, it looks at every file. Throws AppError `engine`. */
  layerBytes(): Promise<number>;
  /** Ends it: TERM, after `graceMs` KILL, then removed and verified gone (the engine answers 404). Idempotent. */
  remove(graceMs: number): Promise<void>;
}

export interface FoundContainer {
  readonly id: string;
  readonly invocation: string;
  readonly running: boolean;
}

export interface EngineReport {
  readonly name: string;
  readonly version: string;
  readonly apiVersion: string;
  /** Limits that this engine would silently discard, as field names of PlannedLimits. */
  readonly discards: readonly string[];
  readonly cpus: number;
  readonly memoryBytes: number;
  /** What `doctor` judges; null: the engine doesn't say. */
  readonly machine: {
    readonly operatingSystem: string | null;
    /** The engine's kernel release: another than ours is an engine in another machine. */
    readonly kernel: string | null;
    readonly cgroupVersion: string | null;
    readonly storageDriver: string | null;
    /** As the engine names them: `name=seccomp,profile=default`, `name=rootless` … */
    readonly securityOptions: readonly string[];
    readonly runc: string | null;
    /** Where images and containers' layers lie; null: the engine doesn't say. */
    readonly rootDirectory: string | null;
  };
}

export interface Runtime {
  /** Throws AppError `engine` when it can't be reached, naming where it looked and what to run. */
  check(): Promise<EngineReport>;
  /** Throws AppError `image` when the image is missing, `engine` otherwise; nothing half-made remains. */
  start(spec: ContainerSpec, sink: OutputSink): Promise<RunningContainer>;
  /** Containers of this home alone, running or not. */
  list(): Promise<readonly FoundContainer[]>;
  /** Removes a container found by `list` and verifies that it is gone. */
  remove(id: string): Promise<void>;
}
