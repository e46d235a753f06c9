/** What containers print may take a bounded share of the event loop, whatever it costs to read. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { createFrameReader } from '../../src/flow/frames.ts';
import { createPace } from '../../src/flow/pace.ts';
import { createPacedReader, READING_MS_MAX, WAITING_BYTES_MAX } from '../../src/flow/paced-reader.ts';

/** A clock that moves only where a line is read: each costs `lineMs`. */
const reading = (lineMs: number) => {
  const time = { ms: 0 };
  const clock = () => time.ms;
  const pace = createPace(clock);
  const reader = () => {
    const heard = { lines: [] as string[], overflow: [] as string[] };
    const read = createFrameReader({
      frame: () => undefined,
      noise: (line) => {
        time.ms += lineMs;
        heard.lines.push(line);
      },
      overflow: (detail) => heard.overflow.push(detail),
    });
    const paced = createPacedReader({ pace, read, clock, overflow: (detail) => heard.overflow.push(detail) });
    return {
      heard,
      paced,
      say: (...lines: string[]) => paced.push(Buffer.from(lines.map((l) => `${l}\n`).join(''))),
    };
  };
  return { reader, time };
};

const numbers = (count: number, name = ''): string[] => Array.from({ length: count }, (_, n) => `${name}${n}`);

describe('output that costs little', () => {
  it('is read at once', () => {
    const { heard, say } = reading(0).reader();
    say(...numbers(1000));
    expect(heard.lines).toHaveLength(1000);
  });
});

describe('output that costs much', () => {
  it('is read a slice per turn of the event loop, all of it and in order', async () => {
    const { reader } = reading(3);
    const { heard, say, paced } = reader();
    say(...numbers(10));
    say(...numbers(10, 'b'));
    expect(heard.lines).toEqual(['0', '1', '2']);
    await nextTurn();
    expect(heard.lines.length).toBeLessThan(10);
    await paced.settled();
    expect(heard.lines).toEqual([...numbers(10), ...numbers(10, 'b')]);
  });

  it('of one container leaves the others their turn', async () => {
    const { reader } = reading(5);
    const [flood, honest] = [reader(), reader()];
    flood.say(...numbers(100));
    honest.say('hello');
    expect(honest.heard.lines).toEqual([]);
    for (let turn = 0; turn < 4; turn += 1) await nextTurn();
    expect(honest.heard.lines).toEqual(['hello']);
    expect(flood.heard.lines.length).toBeLessThan(20);
  });

  it('ends the reading for good when one turn has used up its time', async () => {
    const { reader } = reading(READING_MS_MAX / 4);
    const { heard, say, paced } = reader();
    say(...numbers(20));
    await paced.settled();
    expect(heard.overflow).toEqual([`output that takes more than ${READING_MS_MAX} ms to read`]);
    say('more');
    expect(heard.lines.length).toBeLessThan(7);
  });

  it('ends the reading when too much of it waits, once', () => {
    const { reader } = reading(10);
    const { heard, say, paced } = reader();
    say(...numbers(2));
    for (let sent = 0; sent <= WAITING_BYTES_MAX + 2_000_000; sent += 1_000_000) paced.push(Buffer.alloc(1_000_000));
    expect(heard.overflow).toEqual([`more than ${WAITING_BYTES_MAX} bytes of output that wait to be read`]);
  });

  it('is thrown away once nobody wants it any more', async () => {
    const { reader } = reading(10);
    const { heard, say, paced } = reader();
    say(...numbers(5));
    paced.discard();
    await paced.settled();
    await nextTurn();
    expect(heard.lines).toEqual(['0']);
    say('more');
    expect(heard.lines).toEqual(['0']);
  });
});
