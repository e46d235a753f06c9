/**
 * What happens when a disk is nearly full. No turn starts; of those that run, the one that has written most ends, one
 * after the other, until there is room. Who has written little isn't touched, whoever fills the disk.
 */
import type { Spaces } from './quota-space.ts';
import type { TurnDisk } from './quota-turn.ts';

/** Less than this a turn hasn't filled a disk with. */
const WRITER_BYTES = 16 * 1024 * 1024;

/** One that is being ended gives its space back within this; then it is the next one's turn. */
const GIVES_BACK_MS = 2_000;

export interface FloorOptions {
  readonly spaces: Spaces;
  readonly onLow: (why: readonly string[]) => void;
  readonly onRecovered: () => void;
}

export interface Floor {
  /** After each look at the disks. */
  tick(turns: readonly TurnDisk[], nowMs: number): void;
  /** What is low, for people; empty: turns may start. */
  low(): readonly string[];
}

const describeLow = (spaces: Spaces): string[] => spaces.low().map(({ path, why }) => `${path}: ${why}`);

const endFor = (turn: TurnDisk, why: readonly string[]): void =>
  turn.end({
    kind: 'exceeded',
    place: 'the disk',
    excess: null,
    detail: `it wrote while the disk was nearly full (${why.join('; ')})`,
  });

/** A shared directory grows for all who have it: among those whose places have grown alike, who has written most. */
const byGuilt = (a: TurnDisk, b: TurnDisk): number => {
  const difference = b.growth() - a.growth();
  return Math.abs(difference) < WRITER_BYTES ? b.written() - a.written() : difference;
};

const isWriter = (turn: TurnDisk): boolean => turn.growth() >= WRITER_BYTES;
/** In dire need whoever has written much ends, though nothing shows what has become of it. */
const hasWritten = (turn: TurnDisk): boolean => turn.written() >= WRITER_BYTES;

const worstOf = (turns: readonly TurnDisk[], isDire: boolean): TurnDisk | undefined => {
  const [worst] = turns.filter(isWriter).sort(byGuilt);
  if (worst !== undefined || !isDire) return worst;
  return turns.filter(hasWritten).sort((a, b) => b.written() - a.written())[0];
};

export const createFloor = ({ spaces, onLow, onRecovered }: FloorOptions): Floor => {
  const state = { isLow: false, nextMs: 0 };

  const notice = (why: readonly string[]): void => {
    const isLow = why.length > 0;
    if (isLow && !state.isLow) onLow(why);
    if (!isLow && state.isLow) onRecovered();
    state.isLow = isLow;
  };

  return {
    low: () => describeLow(spaces),
    tick: (turns, nowMs) => {
      const why = describeLow(spaces);
      notice(why);
      if (why.length === 0 || nowMs < state.nextMs) return;
      const running = turns.filter((turn) => !turn.isOver());
      const isDire = spaces.low().some((place) => place.isDire);
      const worst = worstOf(running, isDire);
      if (worst === undefined) return;
      state.nextMs = nowMs + GIVES_BACK_MS;
      endFor(worst, why);
      // Whoever goes on writing is the next.
      for (const turn of running) turn.acquit();
    },
  };
};
