/**
 * Judges a whole trail, line by line in constant memory: what was changed, removed, moved, doubled, added or cut is
 * named by file and line. A break that the operator has acknowledged stays named and isn't a failure any more, as long
 * as the files that were acknowledged are still the same. Pure.
 */
import {
  type Digest,
  foldFile,
  type Link,
  NO_HASH,
  type ReadLine,
  type Restart,
  readLine,
  restartOf,
} from './audit-chain.ts';

export interface Flaw {
  readonly file: string;
  /** null: it concerns the file as a whole. */
  readonly line: number | null;
  readonly what: string;
}

/** Lines by their numbers, both ends included. */
export interface Range {
  readonly from: number;
  readonly to: number;
}

export interface Verdict {
  readonly ok: boolean;
  /** That are what they were when they were written. */
  readonly lines: number;
  readonly last: Link;
  /** The highest number that was met, in whatever line. */
  readonly highest: number;
  /** At most `FLAWS_MAX`; `flawsInAll` counts the rest too. */
  readonly flaws: readonly Flaw[];
  readonly flawsInAll: number;
  readonly acknowledged: readonly Flaw[];
  readonly intact: readonly Range[];
  /** Of all files that were ended, for an acknowledgement. */
  readonly fold: string;
}

export const FLAWS_MAX = 100;

export interface VerifierOptions {
  readonly digest: Digest;
  /** What the first line follows. */
  readonly after: Link;
  /** False where files before the first one aren’t looked at: an acknowledgement of them is believed. */
  readonly isWhole: boolean;
}

interface State {
  file: string;
  line: number;
  last: Link;
  /** The line before was none: it may have been the next one, or none at all. */
  isDoubtful: boolean;
  lines: number;
  highest: number;
  flaws: Flaw[];
  flawsInAll: number;
  acknowledged: Flaw[];
  intact: { from: number; to: number }[];
  fold: string;
}

const span = (from: number, to: number): string =>
  from === to ? `line number ${from} is` : `lines number ${from}–${to} are`;

/** What is wrong with a true line that comes after `last`; null: nothing. */
const misplaced = ({ link, prev }: ReadLine, last: Link, isDoubtful: boolean): string | null => {
  if (link.seq <= last.seq) return `number ${link.seq} comes after number ${last.seq}: it was moved, doubled or added`;
  const isNext = link.seq === last.seq + 1;
  if (isNext && prev === last.hash) return null;
  if (isNext) return `number ${link.seq} doesn’t follow the line before it: one of the two was rewritten`;
  if (isDoubtful && link.seq === last.seq + 2) return null;
  return `${span(last.seq + (isDoubtful ? 2 : 1), link.seq - 1)} missing before number ${link.seq}: removed or moved`;
};

const nameOf = ({ seq, hash }: Link): string => `${seq}:${hash}`;

export class Verifier {
  readonly #digest: Digest;
  readonly #isWhole: boolean;
  #anchors: readonly Link[] = [];
  /** Of those that the operator has noted: what hasn't been met yet. */
  readonly #noted = new Map<string, Link>();
  readonly #state: State;

  constructor({ digest, after, isWhole }: VerifierOptions) {
    this.#digest = digest;
    this.#isWhole = isWhole;
    this.#state = {
      file: '',
      line: 0,
      last: after,
      isDoubtful: false,
      lines: 0,
      highest: after.seq,
      flaws: [],
      flawsInAll: 0,
      acknowledged: [],
      intact: [],
      fold: NO_HASH,
    };
  }

  /**
   * Lines that have to be there, known from outside of the trail. No acknowledgement stands in for one of `noted`: who
   * rewrites a trail can write one too.
   */
  expect(head: readonly Link[], noted: readonly Link[] = []): void {
    this.#anchors = [...head, ...noted];
    for (const link of noted) this.#noted.set(nameOf(link), link);
  }

  beginFile(file: string): void {
    Object.assign(this.#state, { file, line: 0 });
  }

  /** `text`: one line without its newline, a character per byte. */
  take(text: string): void {
    this.#state.line += 1;
    const read = readLine(text, this.#digest);
    if (read === null) this.#doubt('this is not a line of the trail: it was changed, cut or added');
    else if (read.isTrue) this.#takeTrue(read, text);
    else this.#takeChanged(read);
  }

  /** `fileHash`: SHA-256 of the file’s bytes. */
  endFile(fileHash: string): void {
    const { file: name, fold } = this.#state;
    this.#state.fold = foldFile(fold, { name, fileHash }, this.#digest);
  }

  /** Something about a file that keeps its lines from being read. */
  flaw(what: string, line: number | null = null): void {
    const { flaws, file } = this.#state;
    this.#state.flawsInAll += 1;
    if (flaws.length < FLAWS_MAX) flaws.push({ file, line, what });
  }

  end(): Verdict {
    this.#missingTail();
    const { last, lines, highest, flaws, flawsInAll, acknowledged, intact, fold } = this.#state;
    return {
      ok: flawsInAll === 0,
      ...{ lines, highest, flaws, flawsInAll, acknowledged, intact, fold },
      last,
    };
  }

  #doubt(what: string): void {
    this.flaw(what, this.#state.line);
    this.#state.isDoubtful = true;
  }

  #takeTrue(read: ReadLine, text: string): void {
    const { line, last, isDoubtful } = this.#state;
    this.#noted.delete(nameOf(read.link));
    const mayRestart = line === 1 && read.link.seq > last.seq;
    const restart = mayRestart ? restartOf(text, read) : null;
    if (restart !== null) this.#restart(restart);
    const flaw = restart === null ? misplaced(read, last, isDoubtful) : null;
    this.#settle(read, flaw ?? this.#contradicts(read.link));
  }

  #takeChanged({ link, prev }: ReadLine): void {
    const { last } = this.#state;
    const isNext = link.seq === last.seq + 1 && prev === last.hash;
    this.#doubt(`number ${link.seq} was changed: its hash is not that of its content`);
    // The next line is sealed to the hash that this one had, and says if that is still there.
    if (isNext) Object.assign(this.#state, { last: link, isDoubtful: false });
  }

  #restart({ earlier, why }: Restart): void {
    const { flaws, acknowledged, fold } = this.#state;
    if (this.#isWhole && earlier !== fold) {
      this.flaw('the files before this acknowledgement have changed since it was made', 1);
      return;
    }
    const here: Flaw = { file: this.#state.file, line: 1, what: `acknowledged: ${why}` };
    acknowledged.push(...flaws.splice(0), here);
    this.#state.flawsInAll = 0;
  }

  #settle(read: ReadLine, flaw: string | null): void {
    const state = this.#state;
    const { link } = read;
    state.highest = Math.max(state.highest, link.seq);
    if (flaw !== null) this.flaw(flaw, state.line);
    if (link.seq <= state.last.seq) return;
    // What comes behind a gap is what it was: the line after it is sealed to it.
    if (flaw === null || link.seq > state.last.seq + 1) this.#count(link.seq);
    Object.assign(state, { last: link, isDoubtful: false });
  }

  #count(seq: number): void {
    const { intact } = this.#state;
    const range = intact.at(-1);
    this.#state.lines += 1;
    if (range !== undefined && range.to === seq - 1) range.to = seq;
    else if (intact.length < FLAWS_MAX) intact.push({ from: seq, to: seq });
  }

  #contradicts({ seq, hash }: Link): string | null {
    const isOther = this.#anchors.some((anchor) => anchor.seq === seq && anchor.hash !== hash);
    return isOther ? `number ${seq} is not the line that was noted down outside of the trail: it was rewritten` : null;
  }

  #missingTail(): void {
    const { last, line } = this.#state;
    const noted = Math.max(0, ...this.#anchors.map(({ seq }) => seq));
    const { seq } = last;
    if (seq < noted) this.flaw(`${span(seq + 1, noted)} missing at the end: cut off`, line === 0 ? null : line);
    for (const unmet of this.#noted.values())
      if (unmet.seq <= seq)
        this.flaw(`number ${unmet.seq} as it was noted down outside of the trail is in no file of it`);
  }
}
