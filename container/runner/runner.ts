/**
 * The runner's life: ready → init → one turn → its last frame → exit. Exit statuses: 0 the turn's last frame was
 * written, 1 something broke (an `internal` error frame says what), 9 the supervisor is gone.
 */
import { mkdirSync } from 'node:fs';
import type { Readable } from 'node:stream';
import type { HostFrame, InitFrame, RunnerFrame } from '../../src/protocol.ts';
import type { Agent } from './agent.ts';
import { commandEnvironment, type OwnEnvironment } from './environment.ts';
import { readFrames } from './frames-in.ts';
import { FrameWriter, type LineSink } from './frames-out.ts';
import { Ipc } from './ipc.ts';
import { errorFrame, runTurn, TurnEnd } from './loop.ts';
import type { RunnerPaths } from './paths.ts';
import { startRelay } from './relay.ts';

export const EXIT = { done: 0, broken: 1, supervisorGone: 9 } as const;

/** After `stop`, or when something broke, the process is gone this much later, whatever still hangs. */
const LAST_WORDS_MS = 800;

export interface RunnerOptions {
  readonly stdin: Readable;
  readonly stdout: LineSink;
  readonly paths: RunnerPaths;
  readonly environment: OwnEnvironment;
  readonly agent: Agent;
  /** Ends the process. */
  exit(status: number): void;
  /** For the operator's eyes: stderr. */
  log(line: string): void;
}

export class Runner {
  readonly #options: RunnerOptions;
  readonly #writer: FrameWriter;
  readonly #ipc: Ipc;
  readonly #abort = new AbortController();
  #relay: ReturnType<typeof startRelay> | undefined;
  #started = false;
  #ending = false;

  constructor(options: RunnerOptions) {
    this.#options = options;
    this.#writer = new FrameWriter(options.stdout);
    this.#ipc = new Ipc({ directory: options.paths.ipc });
  }

  start(): void {
    readFrames(this.#options.stdin, {
      frame: (frame) => this.#take(frame),
      broken: (why) => this.#broken(why),
      end: () => this.#supervisorGone(),
    });
    this.#writer.send({ type: 'ready' }).catch(() => this.#supervisorGone());
    this.#relay = startRelay(this.#options.paths.relayPort, this.#options.paths.socket);
    this.#relay.catch((thrown) => this.fail(thrown));
    this.#makeHome();
  }

  /** Something that nobody caught: say so and go. */
  fail(thrown: unknown): void {
    this.#options.log(thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown));
    void this.#end(errorFrame(thrown), { status: EXIT.broken, msMax: LAST_WORDS_MS });
  }

  #take(frame: HostFrame): void {
    if (frame.type === 'poke') this.#ipc.poke();
    else if (frame.type === 'stop') this.#stop(frame.reason);
    else void this.#run(frame);
  }

  async #run(init: InitFrame): Promise<void> {
    if (this.#started) return;
    this.#started = true;
    const timer = setTimeout(() => this.#abort.abort(outOfTime(init)), init.limits.turnMs);
    try {
      const relay = await this.#relay;
      const relayPort = relay?.port ?? this.#options.paths.relayPort;
      const environment = commandEnvironment(this.#options.environment, {
        ...this.#options.paths,
        relayPort,
        credentials: init.credentials?.environment,
      });
      const { agent, paths } = this.#options;
      const signal = this.#abort.signal;
      const turn = { init, agent, writer: this.#writer, ipc: this.#ipc, paths, relayPort, environment, signal };
      const last = await runTurn(turn);
      clearTimeout(timer);
      await this.#end(last, { status: EXIT.done });
    } catch (thrown) {
      this.fail(thrown);
    }
  }

  #stop(reason: string): void {
    const why = new TurnEnd('cancelled', `stopped: ${reason}`);
    this.#abort.abort(why);
    if (!this.#started) void this.#end(errorFrame(why), { status: EXIT.done, msMax: LAST_WORDS_MS });
    else setTimeout(() => this.#options.exit(EXIT.done), LAST_WORDS_MS).unref();
  }

  #broken(why: string): void {
    this.#options.log(`a line on stdin is no frame of the host: ${why}`);
    if (this.#started) return;
    this.fail(
      new TurnEnd('internal', `the runner can't read this supervisor's init frame (${why}); rebuild the image`),
    );
  }

  /** Running commands go with us: the abort kills their process groups before the exit. */
  #supervisorGone(): void {
    this.#abort.abort(new TurnEnd('cancelled', 'the supervisor is gone'));
    this.#options.exit(EXIT.supervisorGone);
  }

  /** Writes the last frame, once, and exits when it was taken. */
  async #end(last: RunnerFrame, how: { status: number; msMax?: number }): Promise<void> {
    if (this.#ending) return;
    this.#ending = true;
    if (how.msMax !== undefined) setTimeout(() => this.#options.exit(how.status), how.msMax).unref();
    this.#abort.abort(new TurnEnd('cancelled', 'the turn has ended'));
    await this.#writer.send(last).catch(() => undefined);
    this.#options.exit(how.status);
  }

  #makeHome(): void {
    try {
      mkdirSync(this.#options.paths.home, { recursive: true });
    } catch (thrown) {
      this.#options.log(`no home directory: ${String(thrown)}`);
    }
  }
}

const outOfTime = ({ limits }: InitFrame): TurnEnd =>
  new TurnEnd('limit', `the turn took longer than ${limits.turnMs / 1000} s`);
