/**
 * One turn's disk use while it lasts: measured again and again, judged against its plan's quotas. Invariants: never two
 * measurements at once; they take no more than a fifth of the time; the first excess ends the turn.
 */
import type { InvocationPlan } from '../domain/plan.ts';
import { excessOf, largestPlace, ROOT_PLACE } from '../domain/quota.ts';
import type { MeasureResult } from '../files/measure-protocol.ts';
import type { Measurer } from '../files/measurer.ts';
import type { RunningContainer } from '../runtimes/runtime.ts';
import { boundsOf, type DiskEnd, exceeded, judgePlace, type WatchedPlace, watchedPlaces } from './quota-places.ts';

export interface TurnDiskOptions {
  readonly plan: InvocationPlan;
  readonly measurer: Measurer;
  readonly onEnd: (end: DiskEnd) => void;
  readonly onError: (thrown: unknown) => void;
}

/** Free space fell by so much: somebody writes. */
const TRIGGER_BYTES = 4 * 1024 * 1024;
/** As often is it measured where nothing seems to happen. */
const EVERY_MS = 1_500;
/** Rest after a measurement, in times of what it took. */
const REST = 4;
/** The engine's own measuring costs it more than it costs us. */
const ENGINE_REST = 20;
const ENGINE_EVERY_MS = 30_000;
/** So many times in a row may a tree change faster than it can be walked; deep deletions do that for a moment. */
const LOST_MAX = 20;
const HELD_PLACE = 'files that were deleted and are still open';

export class TurnDisk {
  readonly plan: InvocationPlan;
  /** Settles when every place has been judged at the start of the turn. Never rejects. */
  readonly judged: Promise<void>;
  readonly #options: TurnDiskOptions;
  readonly #places: readonly WatchedPlace[];
  readonly #over: string[] = [];
  #container: RunningContainer | null = null;
  #layer: 'unknown' | 'directory' | 'engine' = 'unknown';
  #busy = false;
  #ended = false;
  /** Said once: what fails is tried again soon. */
  #hasFailed = false;
  #lost = 0;
  #restUntilMs = 0;
  #measuredMs = Number.NEGATIVE_INFINITY;
  #engineNextMs = 0;
  #freeBytes = 0;
  #held = 0;
  #written = 0;

  constructor(options: TurnDiskOptions) {
    this.#options = options;
    this.plan = options.plan;
    this.#places = watchedPlaces(options.plan);
    this.judged = this.#round();
  }

  /** What the agent has to know before it begins; empty: nothing. */
  warning(): string {
    if (this.#over.length === 0) return '';
    return `\n\n# Disk space\n\nThere is no room: ${this.#over.join('; ')}. Delete what is not needed before anything else: a turn that adds to it is ended.`;
  }

  attach(container: RunningContainer): void {
    this.#container = container;
  }

  /** At every tick: measures where it is time to. */
  tick(nowMs: number, freeBytes: number, isLow: boolean): void {
    if (this.#busy || this.#ended || nowMs < this.#restUntilMs) return;
    // From the highest since the last measurement: what others give back must not hide what is written.
    this.#freeBytes = Math.max(this.#freeBytes, freeBytes);
    const somebodyWrites = this.#freeBytes - freeBytes >= TRIGGER_BYTES;
    if (!somebodyWrites && !isLow && nowMs - this.#measuredMs < EVERY_MS) return;
    this.#freeBytes = freeBytes;
    void this.#round();
  }

  /** Bytes that its places have grown by, whoever of those that share them has written them. */
  growth(): number {
    return this.#places.reduce((sum, { before, bytes }) => sum + Math.max(0, bytes - before), this.#held);
  }

  /** What has grown so far is somebody else's doing: from now on it counts anew. */
  acquit(): void {
    for (const place of this.#places) place.before = place.bytes;
  }

  /** Bytes that its processes have written, whatever has become of them; 0 where it can't be told. */
  written(): number {
    return this.#written;
  }

  end(end: DiskEnd): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#options.onEnd(end);
  }

  /** Nothing is measured any more. */
  close(): void {
    this.#ended = true;
  }

  isOver(): boolean {
    return this.#ended;
  }

  async #round(): Promise<void> {
    this.#busy = true;
    try {
      await this.#findLayer();
      await this.#measure();
      await this.#askEngine();
    } catch (thrown) {
      this.#restUntilMs = performance.now() + EVERY_MS;
      if (!this.#ended && !this.#hasFailed) this.#options.onError(thrown);
      this.#hasFailed = true;
    } finally {
      this.#busy = false;
    }
  }

  async #findLayer(): Promise<void> {
    const root = this.#root();
    if (root === undefined || this.#container === null || this.#layer !== 'unknown') return;
    root.source = await this.#container.layerDirectory();
    this.#layer = root.source === null ? 'engine' : 'directory';
    // A fresh container's layer is its own from the first byte.
    root.allowed = root.quota;
  }

  #root(): WatchedPlace | undefined {
    return this.#places.find(({ quota }) => quota.place === ROOT_PLACE);
  }

  async #measure(): Promise<void> {
    const { measurer, plan } = this.#options;
    const seen = this.#places.filter(({ source }) => source !== null);
    const result = await measurer.measure({
      uid: plan.uid,
      trees: seen.map((place) => ({ path: place.source ?? '', bounds: boundsOf(place) })),
      container: this.#container?.id ?? null,
    });
    this.#measuredMs = performance.now();
    this.#restUntilMs = this.#measuredMs + REST * result.tookMs;
    this.#held = result.held.bytes;
    this.#written = Math.max(this.#written, result.held.written);
    for (const [at, place] of seen.entries()) this.#judge(place, result.trees[at]);
    this.#judgeHeld(result.held);
    this.#judgeLost(result.trees);
  }

  #judge(place: WatchedPlace, tree: MeasureResult['trees'][number] | undefined): void {
    if (tree === undefined) return;
    const { end, over } = judgePlace(place, tree);
    if (end !== null) this.end(end);
    if (over !== null) this.#over.push(over);
  }

  #judgeHeld(held: MeasureResult['held']): void {
    // Together as much as the largest place; they are few, and their number is bounded by descriptors.
    const excess = excessOf(held, { bytes: largestPlace(this.plan.quotas), files: null });
    if (excess !== null) this.end(exceeded(HELD_PLACE, excess));
  }

  #judgeLost(trees: MeasureResult['trees']): void {
    this.#lost = trees.some(({ walk }) => walk === 'lost') ? this.#lost + 1 : 0;
    if (this.#lost < LOST_MAX) return;
    const detail = `its directories change faster than they can be measured (${LOST_MAX} times in a row)`;
    this.end({ kind: 'unmeasurable', place: ROOT_PLACE, excess: null, detail });
  }

  /** Where the layer can't be seen from here. */
  async #askEngine(): Promise<void> {
    const root = this.#root();
    if (root === undefined || this.#container === null || this.#layer !== 'engine' || this.#ended) return;
    const from = performance.now();
    if (from < this.#engineNextMs) return;
    root.bytes = await this.#container.layerBytes();
    const tookMs = performance.now() - from;
    this.#engineNextMs = from + tookMs + Math.max(ENGINE_EVERY_MS, ENGINE_REST * tookMs);
    const excess = excessOf({ bytes: root.bytes, files: 0 }, root.quota);
    if (excess !== null) this.end(exceeded(ROOT_PLACE, excess));
  }
}
