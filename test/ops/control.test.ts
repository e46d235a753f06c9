/** The control socket over real sockets, with a stand-in for the supervisor behind its own port. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { lstat, mkdir, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { request as httpRequest } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { controlClient, isRunning } from '../../src/commands/client.ts';
import { GroupId } from '../../src/domain/ids.ts';
import { AppError } from '../../src/errors.ts';
import { type Home, homeAt } from '../../src/home.ts';
import { CONTROL_BODY_BYTES_MAX, type Control, startControl } from '../../src/ops/control.ts';
import type { ChatEvent, ControlledSupervisor, StatusReport } from '../../src/ops/control-protocol.ts';

const INVOCATION = '01JTESTTESTTESTTESTTESTTE0';
const LOBBY = GroupId.parse('local:lobby');
const HELLO = { group: LOBBY, text: 'hello' };

const STATUS: StatusReport = {
  pid: 4711,
  home: '/home',
  version: '0.1.0',
  startedAt: '2026-01-01T00:00:00.000Z',
  engine: null,
  image: 'image:1',
  provider: 'rehearsal',
  concurrent: 2,
  waiting: [],
  running: [],
};

const DONE: ChatEvent = {
  kind: 'done',
  invocation: INVOCATION,
  reason: 'completed',
  detail: null,
  reply: 'hi',
  timings: { queuedMs: 1, stagedMs: 2, startedMs: 3, firstModelRequestMs: 4, totalMs: 5 },
};

interface Seen {
  readonly texts: string[];
  readonly cancelled: string[];
  readonly recorded: string[];
  shutdowns: number;
  aborted: number;
}

type Chat = ControlledSupervisor['chat'];

async function* replies(): AsyncGenerator<ChatEvent> {
  yield { kind: 'accepted', message: 'm1' };
  yield { kind: 'text', invocation: INVOCATION, delta: 'hi ✓' };
  yield DONE;
}

const standIn = (chat: Chat = replies): { supervisor: ControlledSupervisor; seen: Seen } => {
  const seen: Seen = { texts: [], cancelled: [], recorded: [], shutdowns: 0, aborted: 0 };
  const supervisor: ControlledSupervisor = {
    status: () => STATUS,
    chat: (request, signal) => {
      seen.texts.push(request.text);
      signal.addEventListener('abort', () => {
        seen.aborted += 1;
      });
      return chat(request, signal);
    },
    cancel: (invocation) => {
      seen.cancelled.push(invocation);
      return invocation === INVOCATION;
    },
    record: ({ kind }) => {
      seen.recorded.push(kind);
    },
    shutdown: () => {
      seen.shutdowns += 1;
    },
  };
  return { supervisor, seen };
};

let directory: string;
let home: Home;
const open: Control[] = [];

const start = async (supervisor: ControlledSupervisor, at: Home = home): Promise<Control> => {
  const control = await startControl({ socketPath: at.controlSocket, supervisor, logger: pino({ level: 'silent' }) });
  open.push(control);
  return control;
};

const collect = async (events: AsyncIterable<ChatEvent>): Promise<ChatEvent[]> => {
  const all: ChatEvent[] = [];
  for await (const event of events) all.push(event);
  return all;
};

/** A request as no client of ours would send it. */
const raw = (method: string, path: string, body = ''): Promise<{ status: number; body: unknown }> =>
  new Promise((resolve, reject) => {
    const request = httpRequest({ socketPath: home.controlSocket, method, path, agent: false }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, body: JSON.parse(Buffer.concat(chunks).toString('utf8')) }),
      );
    });
    request.on('error', reject);
    request.end(body);
  });

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'tierclaw-control-'));
  home = homeAt(directory);
  await mkdir(home.data, { mode: 0o700 });
});

afterEach(async () => {
  await Promise.all(open.splice(0).map((control) => control.close()));
  await rm(directory, { recursive: true, force: true });
});

describe('the socket', () => {
  test('has mode 0600 and leaves nothing else behind, whatever the umask', async () => {
    const before = process.umask(0);
    try {
      await start(standIn().supervisor);
    } finally {
      process.umask(before);
    }
    const found = await stat(home.controlSocket);
    expect(found.isSocket()).toBe(true);
    expect(found.mode & 0o777).toBe(0o600);
    expect(await readdir(home.data)).toEqual(['control.sock']);
  });

  test('is served at a path longer than the kernel allows', async () => {
    const deep = homeAt(join(directory, 'd'.repeat(120), 'e'.repeat(120)));
    await mkdir(deep.data, { recursive: true });
    await start(standIn().supervisor, deep);
    expect(await controlClient(deep).status()).toEqual(STATUS);
    expect(await readdir(deep.data)).toEqual(['control.sock']);
  });

  test('replaces one that a killed supervisor left', async () => {
    const listen = "require('net').createServer().listen(process.argv[1], () => console.log('up'))";
    const other = spawn(process.execPath, ['-e', listen, home.controlSocket], { stdio: ['ignore', 'pipe', 'inherit'] });
    await once(other.stdout, 'data');
    other.kill('SIGKILL');
    await once(other, 'exit');
    expect((await lstat(home.controlSocket)).isSocket()).toBe(true);
    await start(standIn().supervisor);
    expect(await controlClient(home).status()).toEqual(STATUS);
  });

  test('of a supervisor that answers is left alone', async () => {
    await start(standIn().supervisor);
    await expect(start(standIn().supervisor)).rejects.toMatchObject({
      code: 'conflict',
      hint: expect.stringContaining('down'),
    });
    expect(await controlClient(home).status()).toEqual(STATUS);
    expect(await readdir(home.data)).toEqual(['control.sock']);
  });

  test('does not replace a file of another kind', async () => {
    await writeFile(home.controlSocket, 'mine');
    await expect(start(standIn().supervisor)).rejects.toMatchObject({ code: 'conflict' });
    expect((await lstat(home.controlSocket)).size).toBe(4);
  });

  test('is gone after close, and close may be called twice', async () => {
    const control = await start(standIn().supervisor);
    await Promise.all([control.close(), control.close()]);
    await control.close();
    expect(await readdir(home.data)).toEqual([]);
    expect(await isRunning(controlClient(home))).toBe(false);
  });

  test('that another supervisor has put in its place survives the first one’s close', async () => {
    const first = await start(standIn().supervisor);
    await rm(home.controlSocket);
    await start(standIn().supervisor);
    await first.close();
    expect(await controlClient(home).status()).toEqual(STATUS);
  });
});

describe('without a supervisor', () => {
  test('the client says so and how to start one', async () => {
    await expect(controlClient(home).status()).rejects.toMatchObject({
      code: 'not-running',
      message: `no supervisor is running for the home ${home.dir}`,
      hint: 'tierclaw up --detach',
    });
  });

  test('a home that was never made has none either', async () => {
    expect(await isRunning(controlClient(homeAt(join(directory, 'nowhere'))))).toBe(false);
  });
});

describe('a chat', () => {
  test('is told event by event', async () => {
    const { supervisor, seen } = standIn();
    await start(supervisor);
    const events = await collect(controlClient(home).chat(HELLO));
    expect(events.map(({ kind }) => kind)).toEqual(['accepted', 'text', 'done']);
    expect(events.at(-1)).toEqual(DONE);
    expect(seen.texts).toEqual(['hello']);
  });

  test('reaches the client while it is still going on', async () => {
    const gate = new AbortController();
    const { supervisor } = standIn(async function* () {
      yield { kind: 'queued', invocation: INVOCATION };
      await once(gate.signal, 'abort');
      yield DONE;
    });
    await start(supervisor);
    const kinds: string[] = [];
    for await (const event of controlClient(home).chat(HELLO)) {
      kinds.push(event.kind);
      gate.abort();
    }
    expect(kinds).toEqual(['queued', 'done']);
  });

  test('that is refused becomes the same error in the command', async () => {
    const { supervisor } = standIn(async function* () {
      yield* [];
      throw new AppError({ code: 'not-found', message: 'no such group', hint: 'tierclaw groups list' });
    });
    await start(supervisor);
    await expect(collect(controlClient(home).chat(HELLO))).rejects.toMatchObject({
      code: 'not-found',
      message: 'no such group',
      hint: 'tierclaw groups list',
    });
  });

  test('that breaks in the middle ends with the error after what was told', async () => {
    const { supervisor } = standIn(async function* () {
      yield { kind: 'queued', invocation: INVOCATION };
      throw new AppError({ code: 'engine', message: 'the engine is gone' });
    });
    await start(supervisor);
    const kinds: string[] = [];
    const read = async (): Promise<void> => {
      for await (const event of controlClient(home).chat(HELLO)) kinds.push(event.kind);
    };
    await expect(read()).rejects.toMatchObject({ code: 'engine', message: 'the engine is gone' });
    expect(kinds).toEqual(['queued']);
  });

  test('that the client leaves aborts the telling', async () => {
    const { supervisor, seen } = standIn(async function* (_request, signal) {
      yield { kind: 'queued', invocation: INVOCATION };
      await once(signal, 'abort');
    });
    await start(supervisor);
    for await (const event of controlClient(home).chat(HELLO)) if (event.kind === 'queued') break;
    await expect.poll(() => seen.aborted).toBe(1);
  });

  test('ends when the server closes, even if its source is stuck', async () => {
    const { supervisor } = standIn(async function* () {
      yield { kind: 'queued', invocation: INVOCATION };
      await new Promise(() => undefined);
    });
    const control = await start(supervisor);
    const closing: Promise<void>[] = [];
    const read = async (): Promise<void> => {
      for await (const _event of controlClient(home).chat(HELLO)) closing.push(control.close());
    };
    await expect(read()).rejects.toMatchObject({ code: 'not-running', message: expect.stringContaining('kept') });
    await Promise.all(closing);
  });

  test('holds back its source while the client reads nothing', async () => {
    let produced = 0;
    const { supervisor } = standIn(async function* (_request, signal) {
      const delta = 'x'.repeat(64 * 1024);
      while (!signal.aborted && produced < 1_000) {
        produced += 1;
        yield { kind: 'text', invocation: INVOCATION, delta };
      }
    });
    await start(supervisor);
    const request = httpRequest({ socketPath: home.controlSocket, method: 'POST', path: '/chat', agent: false });
    request.end(JSON.stringify(HELLO));
    const [response] = await once(request, 'response');
    await sleep(200);
    expect(produced).toBeLessThan(100);
    response.destroy();
  });
});

describe('other requests', () => {
  test('a running turn is cancelled by its id; one that is not running is not found', async () => {
    const { supervisor, seen } = standIn();
    await start(supervisor);
    const client = controlClient(home);
    await client.cancel(INVOCATION);
    await expect(client.cancel('01JTESTTESTTESTTESTTESTTE1')).rejects.toMatchObject({ code: 'not-found' });
    expect(seen.cancelled).toEqual([INVOCATION, '01JTESTTESTTESTTESTTESTTE1']);
  });

  test('shutdown is answered before it is carried out', async () => {
    const { supervisor, seen } = standIn();
    await start(supervisor);
    await controlClient(home).shutdown();
    await expect.poll(() => seen.shutdowns).toBe(1);
  });
});

describe('a request that is not understood is refused and changes nothing', () => {
  const long = JSON.stringify({ group: 'local:lobby', text: 'x'.repeat(1_000_001) });
  test.each([
    { title: 'an unknown path', method: 'GET', path: '/secrets', body: '', status: 404, message: /POST \/chat/ },
    { title: 'a method of another path', method: 'GET', path: '/shutdown', body: '', status: 404, message: /no such/ },
    { title: 'a name every object has', method: 'GET', path: '/__proto__', body: '', status: 404, message: /no such/ },
    { title: 'no JSON', method: 'POST', path: '/chat', body: '{', status: 400, message: /not JSON/ },
    { title: 'an empty body', method: 'POST', path: '/cancel', body: '', status: 400, message: /not JSON/ },
    {
      title: 'a bad group id',
      method: 'POST',
      path: '/chat',
      body: '{"group":"x","text":"y"}',
      status: 400,
      message: /^group: /,
    },
    {
      title: 'an unknown key',
      method: 'POST',
      path: '/chat',
      body: '{"group":"local:x","text":"y","tier":"z"}',
      status: 400,
      message: /tier/,
    },
    {
      title: 'a bad invocation',
      method: 'POST',
      path: '/cancel',
      body: '{"invocation":"../x"}',
      status: 400,
      message: /ULID/,
    },
    { title: 'a text that is too long', method: 'POST', path: '/chat', body: long, status: 400, message: /^text: / },
    {
      title: 'an oversized body',
      method: 'POST',
      path: '/chat',
      body: 'x'.repeat(CONTROL_BODY_BYTES_MAX + 1),
      status: 400,
      message: /longer than 6100000 bytes/,
    },
  ])('$title', async ({ method, path, body, status, message }) => {
    const { supervisor, seen } = standIn();
    await start(supervisor);
    const answer = await raw(method, path, body);
    expect(answer.status).toBe(status);
    expect(answer.body).toMatchObject({ code: expect.any(String), message: expect.stringMatching(message) });
    expect(seen).toEqual({ texts: [], cancelled: [], recorded: [], shutdowns: 0, aborted: 0 });
    expect(await controlClient(home).status()).toEqual(STATUS);
  });

  test('the longest message allowed is taken even where every character is escaped', async () => {
    const { supervisor, seen } = standIn();
    await start(supervisor);
    const text = '\u0001'.repeat(1_000_000);
    await collect(controlClient(home).chat({ group: LOBBY, text }));
    expect(seen.texts[0]?.length).toBe(1_000_000);
  });
});
