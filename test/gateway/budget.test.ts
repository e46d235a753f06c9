/** Caps through the real gateway, its ledger a real database; clients are the providers' own libraries where it matters. */
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import Anthropic from '@anthropic-ai/sdk';
import { APICallError, generateText } from 'ai';
import { describe, expect, it, onTestFinished } from 'vitest';
import { GroupId } from '../../src/domain/ids.ts';
import type { TierModelCaps } from '../../src/domain/tiers.ts';
import type { SpendLedger } from '../../src/gateway/budget.ts';
import { homeAt } from '../../src/home.ts';
import { openStores, type Stores } from '../../src/store/stores.ts';
import {
  ANSWER,
  type Answerer,
  ASK,
  answerOk,
  CAPS,
  CHAT,
  configFor,
  GROUP,
  LOCAL,
  openSession,
  post,
  type Setup,
  sendEvents,
  sendJson,
  startGateway,
  startRelay,
  startUpstream,
  temporaryDirectory,
} from './setup.ts';

const FRIENDS = GroupId.parse('local:friends');

const openLedger = (directory: string): Stores => {
  const stores = openStores(homeAt(directory), Date.now);
  onTestFinished(() => stores.close());
  return stores;
};

/** As the operator is told, of today. */
const written = (spend: Stores['spend']) => {
  spend.write();
  return spend.days(1);
};

interface World {
  readonly answer?: Answerer;
  readonly caps?: Partial<TierModelCaps>;
  readonly grant?: Parameters<typeof openSession>[1];
  readonly options?: Setup['options'];
}

/** An upstream, a gateway over a ledger that can be looked at, and a session of the lobby. */
const world = async ({ answer = answerOk, caps = {}, grant = {}, options = {} }: World = {}) => {
  const upstream = await startUpstream(answer);
  const directory = await temporaryDirectory();
  const { spend } = openLedger(directory);
  const yaml = configFor(upstream.url);
  const { gateway, log } = startGateway({ yaml, options: { ledger: spend, ...options } });
  const all = { ...CAPS, ...caps };
  const open = (change: Parameters<typeof openSession>[1] = {}) =>
    openSession(gateway, { caps: all, ...grant, ...change });
  const today = () => {
    const row = written(spend).find(({ group }) => group === GROUP);
    return row === undefined ? null : { in: row.inputTokens, out: row.outputTokens, nanoUsd: row.nanoUsd };
  };
  return { upstream, directory, spend, yaml, gateway, log, all, open, today, ...(await open()) };
};

/** Status, seconds to wait and the message of an answer of Anthropic's shape. */
const heard = async (sending: ReturnType<typeof post>) => {
  const answer = await sending;
  const body = (await answer.body.json()) as { error?: { type: string; message: string } };
  const wait = answer.headers['retry-after'];
  return { status: answer.statusCode, wait: wait === undefined ? null : Number(wait), ...body.error };
};

const secondsToMidnight = (): number => 86_400 - (Math.floor(Date.now() / 1000) % 86_400);

describe('a cap of the day', () => {
  it('is told in the provider’s shape, with the time to midnight UTC', async () => {
    // The answer uses 15 tokens; after it, 100 + a few don't fit any more.
    const { socketPath, session, upstream } = await world({ caps: { tokensPerDay: 140 } });
    expect((await heard(post(socketPath))).status).toBe(200);
    const told = await heard(post(socketPath));
    expect(told).toMatchObject({ status: 429, type: 'rate_limit_error' });
    expect(told.message).toMatch(/^this chat has used 15 tokens of today’s 140 tokens .*may use \d+ tokens$/);
    expect(Math.abs((told.wait ?? 0) - secondsToMidnight())).toBeLessThan(60);
    expect(upstream.received).toHaveLength(1);
    expect(session.use()).toMatchObject({ requests: 1, refusals: 1, refused: { status: 429, cap: 'tokensPerDay' } });
  });

  it('of money is told in dollars', async () => {
    const { socketPath, session } = await world({ caps: { usdPerDay: 0.0016 } });
    expect((await heard(post(socketPath))).status).toBe(200);
    expect((await heard(post(socketPath))).message).toMatch(/^this chat has used 0.0002 USD of today’s 0.0016 USD /);
    expect(session.use().refused?.cap).toBe('usdPerDay');
  });

  it('holds after a restart, for all of the group’s sessions and for no other group', async () => {
    const { socketPath, gateway, directory, yaml, all, spend } = await world({ caps: { tokensPerDay: 140 } });
    await heard(post(socketPath));
    await gateway.close();
    spend.write();
    const again = startGateway({ yaml, options: { ledger: openLedger(directory).spend } }).gateway;
    const statuses = [GROUP, GROUP, FRIENDS].map(async (group) => {
      const opened = await openSession(again, { group, caps: all });
      return (await heard(post(opened.socketPath))).status;
    });
    expect(await Promise.all(statuses)).toEqual([429, 429, 200]);
  });

  it('is not gone beyond by parallel requests, and what waits for them is told seconds', async () => {
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const { open, upstream } = await world({
      answer: async (_, response) => {
        await held;
        sendJson(response, 200, ANSWER);
      },
      caps: { tokensPerDay: 300, concurrent: 20 },
    });
    const sessions = await Promise.all([open(), open()]);
    const arrived: number[] = [];
    const sent = Array.from({ length: 10 }, async (_, at) => {
      const told = await heard(post(sessions[at % 2]?.socketPath ?? ''));
      arrived.push(told.status);
      return told;
    });
    await expect.poll(() => arrived).toEqual(Array(8).fill(429));
    expect(upstream.received).toHaveLength(2);
    release();
    const all = await Promise.all(sent);
    expect(all.map(({ status }) => status).sort()).toEqual([200, 200, ...Array<number>(8).fill(429)]);
    expect(all.filter(({ status }) => status === 429).map(({ wait }) => wait)).toEqual(Array(8).fill(5));
    expect((await heard(post(sessions[0]?.socketPath ?? ''))).status).toBe(200);
  });

  it.each([
    ['tokens', { tokensPerDay: 99 }, 'whole day has 99 tokens'],
    ['money', { usdPerDay: 0.001 }, 'whole day has 0.001 USD'],
  ])('that one request alone would exceed in %s is no matter of waiting', async (_, caps, text) => {
    const { socketPath, session } = await world({ caps });
    const told = await heard(post(socketPath));
    expect(told).toMatchObject({ status: 403, wait: null, type: 'permission_error' });
    expect(told.message).toContain(text);
    expect(session.use().refused).toEqual({ status: 403, cap: null });
  });

  it('doesn’t stand in the way of counting tokens, which is free', async () => {
    const { socketPath, today } = await world({
      answer: (_, response) => sendJson(response, 200, { input_tokens: 12 }),
      caps: { tokensPerDay: 10, usdPerDay: 0 },
    });
    const { max_tokens: _, ...body } = ASK;
    expect((await heard(post(socketPath, { path: '/model/claude/v1/messages/count_tokens', body }))).status).toBe(200);
    expect(today()).toEqual({ in: 0, out: 0, nanoUsd: 0 });
  });
});

describe('requests at once', () => {
  it('are counted over all sessions of a group, not over groups', async () => {
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const { open, upstream } = await world({
      answer: async (_, response) => {
        await held;
        sendJson(response, 200, ANSWER);
      },
    });
    const [one, two, other] = await Promise.all([open(), open(), open({ group: FRIENDS })]);
    const running = [one, two, other].map(({ socketPath }) => post(socketPath));
    await expect.poll(() => upstream.received.length).toBe(3);
    expect(await heard(post(two.socketPath))).toMatchObject({ status: 429, wait: 1, type: 'rate_limit_error' });
    expect(two.session.use().refused?.cap).toBe('concurrent');
    release();
    for (const sent of running) expect((await heard(sent)).status).toBe(200);
  });
});

describe('refused requests', () => {
  it('have a minute’s cap of their own, so that bodies can’t be sent in without end', async () => {
    const { socketPath } = await world();
    const statuses: number[] = [];
    for (let sent = 0; sent < 61; sent += 1) statuses.push((await heard(post(socketPath, { body: 'x' }))).status);
    expect([...new Set(statuses.slice(0, 60))]).toEqual([400]);
    const told = await heard(post(socketPath));
    expect([statuses[60], told.status]).toEqual([429, 429]);
    expect(told.wait).toBeGreaterThan(30);
  });
});

describe('a model without a price', () => {
  const unpriced = (url: string): string => configFor(url).replace(/^prices:.*$/m, '');
  const startUnpriced = async (caps: Partial<TierModelCaps>, price = '') => {
    const upstream = await startUpstream(answerOk);
    const yaml = unpriced(upstream.url).replace('models: [llama]', `models: [llama]${price}`);
    const { gateway } = startGateway({ yaml });
    return { upstream, gateway, caps: { ...CAPS, ...caps } };
  };

  it('is refused where money is capped, with the key that gives it one', async () => {
    const { gateway, upstream, caps } = await startUnpriced({});
    const { socketPath } = await openSession(gateway, { caps });
    const told = await heard(post(socketPath));
    expect(told).toMatchObject({ status: 403, wait: null, type: 'permission_error' });
    expect(told.message).toContain('prices."claude/claude-a" in tierclaw.yaml');
    expect(upstream.received).toEqual([]);
  });

  it('is served where money isn’t capped', async () => {
    const { gateway, caps } = await startUnpriced({ usdPerDay: null });
    const { socketPath } = await openSession(gateway, { caps });
    expect((await heard(post(socketPath))).status).toBe(200);
  });

  it.each([
    ['', 403],
    [', price: 0', 200],
  ])('on this machine (“%s”) is answered with %i', async (price, status) => {
    const { gateway, caps } = await startUnpriced({}, price);
    const { socketPath } = await openSession(gateway, { ...LOCAL, caps });
    expect((await heard(post(socketPath, CHAT))).status).toBe(status);
  });
});

describe('what a request used', () => {
  const RESERVED_INPUT = Math.ceil(JSON.stringify(ASK).length / 3);
  const RESERVED = { in: RESERVED_INPUT, out: 100, nanoUsd: RESERVED_INPUT * 3000 + 100 * 15_000 };
  const NOTHING = { in: 0, out: 0, nanoUsd: 0 };
  const start = { type: 'message_start', message: { usage: { input_tokens: 20, output_tokens: 1 } } };
  const end = { type: 'message_delta', usage: { output_tokens: 30 } };
  const stream: (events: readonly object[], last: 'ends' | 'breaks') => Answerer = (events, last) => (_, response) => {
    if (last === 'ends') return sendEvents(response, events);
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.flushHeaders();
    for (const one of events) response.write(`data: ${JSON.stringify(one)}\n\n`);
    setTimeout(() => response.destroy(), 30);
  };
  const cutShort: Answerer = (_, response) => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': 99 });
    response.write('{');
    setTimeout(() => response.destroy(), 30);
  };
  const cached = {
    input_tokens: 100,
    cache_read_input_tokens: 1000,
    cache_creation_input_tokens: 300,
    output_tokens: 1,
  };

  it.each<[string, Answerer, object]>([
    ['a document reports', answerOk, { in: 10, out: 5, nanoUsd: 10 * 3000 + 5 * 15_000 }],
    ['a stream reports', stream([start, end], 'ends'), { in: 20, out: 30, nanoUsd: 60_000 + 450_000 }],
    ['a stream reported before it broke off', stream([start], 'breaks'), { in: 20, out: 1, nanoUsd: 75_000 }],
    [
      'is reported of the cache',
      (_, r) => sendJson(r, 200, { usage: { ...cached, cache_creation: { ephemeral_1h_input_tokens: 100 } } }),
      // No price for reading: as for input.
      { in: 1400, out: 1, nanoUsd: (100 + 1000) * 3000 + 200 * 3750 + 100 * 6000 + 15_000 },
    ],
    ['nobody reports is what was reserved', (_, r) => sendJson(r, 200, { id: 'x' }), RESERVED],
    ['a stream didn’t report before it broke off, too', stream([{}], 'breaks'), RESERVED],
    ['can’t be (an absurd report), too', (_, r) => sendJson(r, 200, { usage: { input_tokens: 1e300 } }), RESERVED],
    ['an answer that is cut short, too', cutShort, RESERVED],
    ['an error of the provider’s: nothing', (_, r) => sendJson(r, 529, { type: 'error' }), NOTHING],
    ['a redirect: nothing', (_, r) => void r.writeHead(302, { location: '/' }).end(), NOTHING],
  ])('%s', async (_, answer, expected) => {
    const { socketPath, today } = await world({ answer });
    const { body } = await post(socketPath);
    await body.text().catch(() => undefined);
    await expect.poll(today).toEqual(expected);
  });

  it('is nothing where the provider couldn’t be reached', async () => {
    const { directory } = await world();
    const { spend } = openLedger(directory);
    const { gateway } = startGateway({ yaml: configFor('http://127.0.0.1:1'), options: { ledger: spend } });
    const { socketPath } = await openSession(gateway, { caps: CAPS });
    expect((await heard(post(socketPath))).status).toBe(502);
    expect(written(spend)).toMatchObject([{ requests: 1, inputTokens: 0, outputTokens: 0, nanoUsd: 0 }]);
  });

  it('of a chat completion takes what was cached for what it costs', async () => {
    const usage = { prompt_tokens: 1000, completion_tokens: 10, prompt_tokens_details: { cached_tokens: 400 } };
    const upstream = await startUpstream((_, response) => sendJson(response, 200, { usage }));
    const { spend } = openLedger(await temporaryDirectory());
    const yaml = configFor(upstream.url).replace('llama: { input: 1,', 'llama: { input: 1, cacheRead: 0.5,');
    const { gateway } = startGateway({ yaml, options: { ledger: spend } });
    const { socketPath } = await openSession(gateway, { ...LOCAL, caps: CAPS });
    await (await post(socketPath, CHAT)).body.dump();
    expect(written(spend)).toMatchObject([{ inputTokens: 1000, nanoUsd: 600 * 1000 + 400 * 500 + 10 * 2000 }]);
  });

  it('isn’t made less by hanging up: what was written by then counts, reported or not', async () => {
    const text = 'x'.repeat(3000);
    const { socketPath, today, session } = await world({
      answer: (_, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write(`data: ${JSON.stringify(start)}\n\ndata: ${JSON.stringify({ delta: { text } })}\n\n`);
      },
    });
    const { body } = await post(socketPath, { body: { ...ASK, max_tokens: 2000, stream: true } });
    body.on('error', () => undefined);
    for await (const chunk of body) if (String(chunk).includes('xxx')) break;
    await expect.poll(() => today()?.in).toBe(20);
    expect(today()?.out).toBeGreaterThanOrEqual(1000);
    expect(today()?.out).toBeLessThanOrEqual(2000);
    expect(session.use().outputTokens).toBe(1);
  });

  it('of a turn that ends half-way counts, too', async () => {
    const { socketPath, today, session } = await world({
      answer: (_, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write('data: {}\n\n');
      },
    });
    const { body } = await post(socketPath);
    const read = body.text().catch(() => undefined);
    await session.close();
    await read;
    expect(today()).toEqual(RESERVED);
  });
});

describe('a ledger that can’t be written', () => {
  const broken = new Error('database or disk is full');

  it('stops requests instead of letting them go uncounted', async () => {
    const ledger: SpendLedger = {
      reserve: () => {
        throw broken;
      },
      settle: () => undefined,
    };
    const { socketPath, upstream, log } = await world({ options: { ledger } });
    expect(await heard(post(socketPath))).toMatchObject({ status: 503, wait: 5, type: 'api_error' });
    expect(upstream.received).toEqual([]);
    expect(log.join()).toContain('database or disk is full');
  });
});

describe('whose refusal it was last', () => {
  it('is the gateway’s until the provider itself gives an error', async () => {
    const { socketPath, session } = await world({
      answer: (_, response) => sendJson(response, 529, { type: 'error' }),
    });
    expect(session.use().refused).toBeNull();
    await heard(post(socketPath, { body: { ...ASK, model: 'another' } }));
    expect(session.use().refused).toEqual({ status: 403, cap: null });
    expect((await heard(post(socketPath))).status).toBe(529);
    expect(session.use().refused).toBeNull();
  });
});

describe('the providers’ own clients', () => {
  it('Anthropic’s takes a cap for its rate limit, and doesn’t come back before the day is over', async () => {
    const { socketPath, session } = await world({ caps: { tokensPerDay: 140 } });
    const baseURL = `${await startRelay(socketPath)}/model/claude`;
    const client = new Anthropic({ apiKey: 'placeholder', baseURL, maxRetries: 2 });
    const ask = () =>
      client.messages.create({ model: 'claude-a', max_tokens: 100, messages: [{ role: 'user', content: 'hi' }] });
    await ask();
    const thrown = await ask().catch((error: unknown) => error);
    expect(thrown).toBeInstanceOf(Anthropic.RateLimitError);
    expect((thrown as InstanceType<typeof Anthropic.RateLimitError>).headers?.get('retry-after')).toMatch(/^\d+$/);
    expect(String(thrown)).toContain('this chat has used 15 tokens');
    expect(session.use().refusals).toBe(1);
  });

  it('an openai-compatible one tells status, wait and words', async () => {
    const { socketPath } = await world({
      answer: (_, response) =>
        sendJson(response, 200, {
          id: 'c',
          object: 'chat.completion',
          created: 1,
          model: 'llama',
          choices: [{ index: 0, message: { role: 'assistant', content: 'hi' }, finish_reason: 'stop' }],
          usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
        }),
      caps: { tokensPerDay: 140 },
      grant: LOCAL,
    });
    const baseURL = `${await startRelay(socketPath)}/model/local`;
    const model = createOpenAICompatible({ name: 'local', baseURL, apiKey: 'placeholder' })('llama');
    const ask = () => generateText({ model, prompt: 'hi', maxOutputTokens: 100, maxRetries: 0 });
    expect((await ask()).text).toBe('hi');
    const thrown = await ask().catch((error: unknown) => error);
    expect(APICallError.isInstance(thrown)).toBe(true);
    expect(thrown).toMatchObject({ statusCode: 429, message: expect.stringContaining('used 15 tokens') });
    expect((thrown as APICallError).responseHeaders?.['retry-after']).toMatch(/^\d+$/);
    expect(JSON.parse((thrown as APICallError).responseBody ?? '')).toMatchObject({
      error: { type: 'rate_limit_error', param: null },
    });
  });
});
