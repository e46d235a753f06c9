/** A secret that an agent prints reaches no chat, no looker-on, no transcript and no record. */
import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import type { TurnNews } from '../../src/channels/channel.ts';
import type { Ending } from '../../src/flow/ending.ts';
import { createListener } from '../../src/flow/listen.ts';
import { cleanedEnding } from '../../src/flow/redaction.ts';
import { encodeFrame, type RunnerFrame } from '../../src/protocol.ts';
import { createSecrets } from '../../src/secrets.ts';
import type { Receipt } from '../../src/store/receipts.ts';

const TOKEN = 'ghp_0123456789äbcdef';
const SECRETS = createSecrets(new Map([['TOKEN', TOKEN]]), '.env');

const listening = () => {
  const heard = { endings: [] as Ending[], news: [] as TurnNews[], receipts: [] as Receipt[], lines: [] as string[] };
  const listener = createListener({
    logger: pino({ level: 'trace' }, { write: (line: string) => void heard.lines.push(SECRETS.redact(line)) }),
    secrets: SECRETS,
    news: (news) => void heard.news.push(news),
    acknowledged: () => undefined,
    keep: (receipt) => heard.receipts.push(receipt) > 0,
    end: (ending) => void heard.endings.push(cleanedEnding(ending, SECRETS)),
  });
  const say = (frame: RunnerFrame): void => listener.sink.stdout(Buffer.from(encodeFrame(frame)));
  const print = (line: string): void => listener.sink.stdout(Buffer.from(`${line}\n`));
  const text = (): string => heard.news.flatMap((news) => (news.kind === 'text' ? [news.delta] : [])).join('');
  const everything = (): string => JSON.stringify([heard, listener.transcript(), listener.streamed()]);
  return { heard, listener, say, print, text, everything };
};

describe('what a container says of a secret', () => {
  it('is redacted in a streamed text, wherever its pieces end', async () => {
    for (let at = 1; at < TOKEN.length; at += 1) {
      const { say, text, listener, everything } = listening();
      say({ type: 'text', delta: `key: ${TOKEN.slice(0, at)}` });
      say({ type: 'text', delta: `${TOKEN.slice(at)} end g` });
      say({ type: 'result', text: `key: ${TOKEN} end g` });
      await listener.settled();
      expect(text()).toBe('key: [redacted] end g');
      expect(listener.streamed()).toBe('key: [redacted] end g');
      expect(everything()).not.toContain(TOKEN);
    }
  });

  it('is redacted in an answer, also where internal words split it', async () => {
    const { say, heard, listener } = listening();
    say({ type: 'result', text: `a ${TOKEN.slice(0, 6)}<internal>x</internal>${TOKEN.slice(6)} b` });
    await listener.settled();
    expect(heard.endings).toMatchObject([{ reason: 'completed', text: 'a [redacted] b' }]);
  });

  it('is redacted in a frame that escapes it', async () => {
    const { print, everything, heard, listener } = listening();
    const escaped = [...TOKEN].map((one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`).join('');
    print(`{"type":"progress","note":"${escaped}"}`);
    await listener.settled();
    expect(heard.news).toEqual([{ kind: 'progress', note: '[redacted]' }]);
    expect(everything()).not.toContain(TOKEN);
  });

  it('is redacted in the transcript, in receipts, in errors and in noise', async () => {
    const { say, print, everything, listener, heard } = listening();
    const part = { type: 'tool-result', output: { type: 'text', value: `X=${TOKEN}` }, [TOKEN]: 1 };
    say({
      type: 'transcript',
      entries: [
        { role: 'tool', content: [part] },
        { role: 'assistant', content: TOKEN },
      ],
    });
    say({ type: 'receipt', id: '1', tool: TOKEN, argumentsDigest: 'd'.repeat(64), outcome: 'ok' });
    print(`noise ${TOKEN}`);
    listener.sink.stderr(Buffer.from(`stderr ${TOKEN}`));
    say({ type: 'error', kind: 'internal', message: `it broke: ${TOKEN}` });
    await listener.settled();
    expect(listener.transcript()[1]).toEqual({ role: 'assistant', content: '[redacted]' });
    expect(heard.endings).toMatchObject([{ reason: 'failed', detail: 'it broke: [redacted]' }]);
    expect(everything()).not.toContain(TOKEN);
    expect(heard.receipts).toHaveLength(1);
  });
});
