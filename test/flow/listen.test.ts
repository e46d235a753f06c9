/** What a container's claims about its tool calls become: kept and logged, never more than anybody wants. */
import { Writable } from 'node:stream';
import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import type { Ending } from '../../src/flow/ending.ts';
import { TURN_OUTPUT_BYTES_MAX } from '../../src/flow/frames.ts';
import { createListener, SPEECH_CHARS_MAX } from '../../src/flow/listen.ts';
import { encodeFrame, type RunnerFrame } from '../../src/protocol.ts';
import { createSecrets } from '../../src/secrets.ts';
import type { Receipt } from '../../src/store/receipts.ts';

const DIGEST = 'd'.repeat(64);
const NO_SECRETS = createSecrets(new Map(), '.env');

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
    secrets: NO_SECRETS,
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

const listening = () => {
  const heard = { endings: [] as Ending[], lines: [] as string[], deltas: 0 };
  const listener = createListener({
    logger: pino({ level: 'debug' }, { write: (line: string) => void heard.lines.push(line) }),
    secrets: NO_SECRETS,
    news: (news) => {
      heard.deltas += news.kind === 'text' ? news.delta.length : 0;
    },
    acknowledged: () => undefined,
    keep: () => true,
    end: (ending) => heard.endings.push(ending),
  });
  const say = (frame: RunnerFrame): void => listener.sink.stdout(Buffer.from(encodeFrame(frame)));
  return { heard, listener, say };
};

describe('listening to a container', () => {
  it('ends the turn when it prints too much on stderr', () => {
    const { heard, listener } = listening();
    const chunk = Buffer.alloc(1024 * 1024);
    for (let sent = 0; sent < TURN_OUTPUT_BYTES_MAX; sent += chunk.length) listener.sink.stderr(chunk);
    expect(heard.endings).toEqual([]);
    listener.sink.stderr(chunk);
    expect(heard.endings).toMatchObject([{ reason: 'output', detail: expect.stringContaining('stderr') }]);
  });

  it('ends the turn when it says too much, and keeps no more than it may say', async () => {
    const { heard, listener, say } = listening();
    const delta = 'x'.repeat(100_000);
    for (let said = 0; said < SPEECH_CHARS_MAX; said += delta.length) say({ type: 'text', delta });
    await listener.settled();
    expect(heard.endings).toEqual([]);
    for (let more = 0; more < 5; more += 1) say({ type: 'text', delta });
    await listener.settled();
    expect(heard.endings[0]).toMatchObject({ reason: 'output' });
    expect(heard.deltas).toBe(SPEECH_CHARS_MAX);
    expect(listener.streamed()).toHaveLength(SPEECH_CHARS_MAX);
  });

  it('escapes and bounds what an error frame says before it is anybody’s detail', () => {
    const { heard, say } = listening();
    say({ type: 'error', kind: 'internal', message: `\u009b2J\u202e${'x'.repeat(9000)}` });
    const [ending] = heard.endings;
    expect(ending?.detail).not.toMatch(/[\u009b\u202e]/);
    expect(ending?.detail?.length).toBeLessThan(1100);
  });
});
