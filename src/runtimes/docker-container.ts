/**
 * One running container: its stdin, its output and its end. The attach stream is read from the first byte to the last
 * and never paused, because an engine with output that nobody takes can neither kill nor remove.
 */
import type { Socket } from 'node:net';
import { finished } from 'node:stream/promises';
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { createDemux } from './demux.ts';
import { type ExitWatch, watchExit } from './docker-exit.ts';
import { findLayer, measureLayer } from './docker-layer.ts';
import { deleteContainer, endContainer, killContainer } from './docker-remove.ts';
import type { Engine } from './engine.ts';
import type { ExitReport, OutputSink, RunningContainer } from './runtime.ts';

/** A container that doesn't read may cost the supervisor this much memory: `init` twice over. */
const STDIN_PENDING_MAX_BYTES = 32 * 1024 * 1024;
/** Output that was written before the end may arrive after it: so long is it waited for. */
const OUTPUT_TAIL_MS = 2_000;
/** How long a removal lets `exited` learn the exit code, which is gone with the container. */
const EXIT_CODE_MS = 5_000;

export interface Attached {
  readonly engine: Engine;
  readonly id: string;
  readonly stream: Socket;
  readonly sink: OutputSink;
  readonly logger: Logger;
  /** Ends every question about this container once it is removed. */
  readonly lifetime: AbortController;
}

class DockerContainer implements RunningContainer {
  readonly id: string;
  readonly exited: Promise<ExitReport>;
  readonly #attached: Attached;
  readonly #streamEnd: Promise<void>;
  #discarding = false;
  #ended = false;
  #removal: Promise<void> | null = null;

  constructor(attached: Attached, ended: Promise<void>) {
    this.id = attached.id;
    this.#attached = attached;
    this.#streamEnd = this.#read();
    this.exited = this.#watch(ended);
  }

  write(line: string): void {
    const { stream } = this.#attached;
    if (!stream.writable || stream.writableLength > STDIN_PENDING_MAX_BYTES) return;
    stream.write(line);
  }

  discardOutput(): void {
    this.#discarding = true;
  }

  layerDirectory(): Promise<string | null> {
    return findLayer(this.#attached.engine, this.id);
  }

  layerBytes(): Promise<number> {
    return measureLayer(this.#attached.engine, this.id);
  }

  async remove(graceMs: number): Promise<void> {
    if (this.#removal !== null && graceMs === 0 && !this.#ended) {
      await killContainer(this.#attached.engine, this.id);
    }
    this.#removal ??= this.#remove(graceMs).catch((thrown: unknown) => {
      // A later call tries again: a container that is still there must stay removable.
      this.#removal = null;
      throw thrown;
    });
    return this.#removal;
  }

  async #remove(graceMs: number): Promise<void> {
    const { engine, stream, lifetime } = this.#attached;
    stream.destroy();
    if (!this.#ended) await endContainer(engine, this.id, graceMs);
    await Promise.race([this.exited, delay(EXIT_CODE_MS, undefined, { ref: false })]);
    await deleteContainer(engine, this.id);
    lifetime.abort();
  }

  #read(): Promise<void> {
    const { stream, sink, logger } = this.#attached;
    const demux = createDemux(sink);
    stream.on('data', (chunk: Buffer) => {
      if (this.#discarding) return;
      try {
        if (demux.push(chunk)) return;
        logger.warn({ container: this.id }, 'the engine’s output stream is not multiplexed: its output is lost');
      } catch (thrown) {
        // Bytes that a container chose must not end the process that serves every other chat: this turn ends instead.
        logger.error({ container: this.id, err: thrown }, 'taking a container’s output failed: its output is lost');
      }
      stream.destroy();
    });
    // A cut stream is no error of its own: stdin's end makes the container exit, and the wait tells how.
    return finished(stream).catch(() => undefined);
  }

  async #watch(ended: Promise<void>): Promise<ExitReport> {
    const { engine, lifetime } = this.#attached;
    const isEnding = () => this.#removal !== null;
    const watch: ExitWatch = { engine, id: this.id, signal: lifetime.signal, isEnding };
    const report = await watchExit(watch, ended);
    this.#ended = !report.engineLost;
    await Promise.race([this.#streamEnd, delay(OUTPUT_TAIL_MS, undefined, { ref: false })]);
    return report;
  }
}

/** Reads `attached.stream` from now on; `ended` is the wait that was registered before start. */
export const runningContainer = (attached: Attached, ended: Promise<void>): RunningContainer =>
  new DockerContainer(attached, ended);
