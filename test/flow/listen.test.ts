/** What a container's claims about its tool calls become: kept and logged, never more than anybody wants. */
import { Writable } from 'node:stream';
import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import { createListener } from '../../src/flow/listen.ts';
import type { Receipt } from '../../src/store/receipts.ts';

const DIGEST = 'd'.repeat(64);

const listenWith = (keep: (receipt: Receipt) => boolean) => {
  const logged: { msg: string; level: number; receipt?: Receipt }[] = [];
  const destination = new Writable({
    write: (line, _encoding, done) => {
      logged.push(JSON.parse(String(line)));
      done();
    },
  });
  const kept: Receipt[] = [];
  const { sink } = createListener({
    logger: pino(destination),
    news: () => undefined,
    acknowledged: () => undefined,
    keep: (receipt) => {
      kept.push(receipt);
      return keep(receipt);
    },
    end: () => undefined,
  });
  const call = (tool: string): void => {
    const frame = { type: 'receipt', id: '1', tool, argumentsDigest: DIGEST, outcome: 'ok' };
    sink.stdout(Buffer.from(`${JSON.stringify(frame)}\n`));
  };
  return { call, kept, logged };
};

describe('a tool call', () => {
  it('is kept and logged, its name fit for a line', () => {
    const { call, kept, logged } = listenWith(() => true);
    call('ba\u001b[31msh\n');
    const receipt = { tool: 'ba\\u{1b}[31msh\\n', argumentsDigest: DIGEST, outcome: 'ok' };
    expect(kept).toEqual([receipt]);
    expect(logged).toMatchObject([{ msg: 'tool call', receipt }]);
  });

  it('is neither kept nor logged once the turn has its fill', () => {
    const { call, kept, logged } = listenWith(() => kept.length < 2);
    for (const tool of ['one', 'two', 'three', 'four']) call(tool);
    expect(kept.map(({ tool }) => tool)).toEqual(['one', 'two']);
    expect(logged.map(({ msg }) => msg)).toEqual(['tool call', 'tool call; no more of this turn’s are kept']);
  });

  it('that can’t be kept is logged as an error, once, and harms nothing', () => {
    const { call, kept, logged } = listenWith(() => {
      throw new Error('database or disk is full');
    });
    call('one');
    call('two');
    expect(kept).toHaveLength(1);
    expect(logged).toMatchObject([
      { level: 50, msg: 'tool calls of this turn can’t be kept', receipt: { tool: 'one' } },
    ]);
  });
});
