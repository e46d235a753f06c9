/**
 * How much of the event loop reading what containers print may take: one slice per turn of the loop for all of them
 * together, the rest later and in turn. Checking a frame can cost a thousand times what it cost to print it.
 */

/** With one frame that is checked at its end, far below the 100 ms that nothing hostile may hold the loop. */
const SLICE_MS = 8;

/** Does what it has time for; true: there is more. */
export type Work = (hasTime: () => boolean) => boolean;

export interface Pace {
  /** Now if there is time, the rest of it later. The same work may be asked for again at any time. */
  ask(work: Work): void;
  /** It isn't called any more. */
  forget(work: Work): void;
}

/** `clock` gives milliseconds that never run backwards. */
export const createPace = (clock: () => number = () => performance.now()): Pace => {
  const waiting = new Set<Work>();
  let until: number | null = null;
  const hasTime = (): boolean => until !== null && clock() < until;

  const renew = (): void => {
    until = null;
    if (waiting.size > 0) spend();
  };

  /** Whoever isn't done goes to the end of the line. */
  const spend = (): void => {
    if (until === null) {
      until = clock() + SLICE_MS;
      setImmediate(renew);
    }
    for (const work of [...waiting]) {
      if (!hasTime()) return;
      waiting.delete(work);
      if (work(hasTime)) waiting.add(work);
    }
  };

  return {
    ask: (work) => {
      waiting.add(work);
      spend();
    },
    forget: (work) => void waiting.delete(work),
  };
};
