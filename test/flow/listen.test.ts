/** What one container may make the supervisor remember, log and send is bounded, whichever way it is said. */
import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import type { Ending } from '../../src/flow/ending.ts';
import { TURN_OUTPUT_BYTES_MAX } from '../../src/flow/frames.ts';
import { createListener, RECEIPTS_LOGGED_MAX, SPEECH_CHARS_MAX } from '../../src/flow/listen.ts';
import { encodeFrame, type RunnerFrame } from '../../src/protocol.ts';

const listening = () => {
  const heard = { endings: [] as Ending[], lines: [] as string[], deltas: 0 };
  const listener = createListener({
    logger: pino({ level: 'debug' }, { write: (line: string) => void heard.lines.push(line) }),
    news: (news) => {
      heard.deltas += news.kind === 'text' ? news.delta.length : 0;
    },
    end: (ending) => heard.endings.push(ending),
  });
  const say = (frame: RunnerFrame): void => listener.sink.stdout(Buffer.from(encodeFrame(frame)));
  return { heard, listener, say };
};

const receipt: RunnerFrame = {
  type: 'receipt',
  id: 'x',
  tool: 'bash',
  argumentsDigest: 'a'.repeat(64),
  outcome: 'ok',
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

  it('ends the turn when it says too much, and keeps no more than it may say', () => {
    const { heard, listener, say } = listening();
    const delta = 'x'.repeat(100_000);
    for (let said = 0; said < SPEECH_CHARS_MAX; said += delta.length) say({ type: 'text', delta });
    expect(heard.endings).toEqual([]);
    for (let more = 0; more < 5; more += 1) say({ type: 'text', delta });
    expect(heard.endings[0]).toMatchObject({ reason: 'output' });
    expect(heard.deltas).toBe(SPEECH_CHARS_MAX);
    expect(listener.streamed()).toHaveLength(SPEECH_CHARS_MAX);
  });

  it('logs no more receipts than a turn has tool calls', () => {
    const { heard, say } = listening();
    for (let call = 0; call < RECEIPTS_LOGGED_MAX + 50; call += 1) say(receipt);
    expect(heard.lines).toHaveLength(RECEIPTS_LOGGED_MAX);
  });

  it('escapes and bounds what an error frame says before it is anybody’s detail', () => {
    const { heard, say } = listening();
    say({ type: 'error', kind: 'internal', message: `\u009b2J\u202e${'x'.repeat(9000)}` });
    const [ending] = heard.endings;
    expect(ending?.detail).not.toMatch(/[\u009b\u202e]/);
    expect(ending?.detail?.length).toBeLessThan(1100);
  });
});
