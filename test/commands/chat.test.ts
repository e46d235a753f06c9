/** `tierclaw chat` over a real control socket, with a stand-in for the supervisor behind it. */
import { once } from 'node:events';
import { pino } from 'pino';
import { describe, expect, onTestFinished, test } from 'vitest';
import { chat, renderOutcome } from '../../src/commands/chat.ts';
import { quietView } from '../../src/commands/chat-view.ts';
import { AppError } from '../../src/errors.ts';
import type { Home } from '../../src/home.ts';
import { startControl } from '../../src/ops/control.ts';
import type { ChatEvent, ControlledSupervisor } from '../../src/ops/control-protocol.ts';
import { run, temporaryHome, testScreen } from './home-fixture.ts';

const INVOCATION = '01JTESTTESTTESTTESTTESTTE0';
const TIMINGS = { queuedMs: 1, stagedMs: 2, startedMs: 3, firstModelRequestMs: 4, totalMs: 5 };

const done = (reply: string | null, reason = 'completed'): ChatEvent => ({
  kind: 'done',
  invocation: INVOCATION,
  reason,
  detail: reason === 'completed' ? null : 'it took 300 s',
  reply,
  timings: TIMINGS,
});

/** Says back what it was told; `fail` ends badly, `refuse` is refused, `wait` waits to be cancelled. */
async function* converseWith(text: string, cancelled: AbortSignal): AsyncGenerator<ChatEvent> {
  if (text === 'refuse') throw new AppError({ code: 'refused', message: 'not now' });
  yield { kind: 'accepted', message: 'm1' };
  yield { kind: 'queued', invocation: INVOCATION };
  yield { kind: 'staged', invocation: INVOCATION };
  if (text === 'wait') {
    await once(cancelled, 'abort');
    yield done(null, 'cancelled');
    return;
  }
  if (text === 'fail') {
    yield { kind: 'message', invocation: INVOCATION, text: 'Sorry, that took too long.' };
    yield done(null, 'timeout');
    return;
  }
  const reply = `you said \u001b[31m${text}`;
  for (const delta of [reply.slice(0, 11), reply.slice(11)]) yield { kind: 'text', invocation: INVOCATION, delta };
  yield { kind: 'message', invocation: INVOCATION, text: reply };
  yield done(reply);
}

const startStandIn = async (home: Home): Promise<string[]> => {
  const groups: string[] = [];
  const cancelled = new AbortController();
  const supervisor: ControlledSupervisor = {
    status: () => ({
      pid: process.pid,
      home: home.dir,
      version: '0.1.0',
      startedAt: '2026-01-01T00:00:00.000Z',
      engine: null,
      image: 'image',
      provider: 'rehearsal',
      concurrent: 1,
      waiting: [],
      running: [],
    }),
    chat: ({ group, text }) => {
      groups.push(group);
      return converseWith(text, cancelled.signal);
    },
    cancel: () => {
      cancelled.abort();
      return true;
    },
    record: () => undefined,
    shutdown: () => undefined,
  };
  const control = await startControl({ socketPath: home.controlSocket, supervisor, logger: pino({ level: 'silent' }) });
  onTestFinished(() => control.close());
  return groups;
};

const homeWithSupervisor = async (): Promise<{ home: Home; groups: string[] }> => {
  const home = await temporaryHome();
  await run(home, ['init']);
  return { home, groups: await startStandIn(home) };
};

describe('--once', () => {
  test('prints the reply without what a terminal would obey, and with --json the outcome as it came', async () => {
    const { home } = await homeWithSupervisor();
    const { text, data, status } = await run(home, ['chat', '--group', 'lobby', '--once', 'hello']);
    expect(text).toBe('you said hello');
    expect(data).toEqual({
      reply: 'you said \u001b[31mhello',
      invocation: INVOCATION,
      timings: TIMINGS,
      reason: 'completed',
      detail: null,
      messages: ['you said \u001b[31mhello'],
    });
    expect(status).toBe(0);
  });

  test('of a turn that fails prints the notice and has exit status 11', async () => {
    const { home } = await homeWithSupervisor();
    const { text, data, status } = await run(home, ['chat', '--once', 'fail', '--json']);
    expect(text).toBe('Sorry, that took too long.\n\n(turn ended: timeout, it took 300 s)');
    expect(data).toMatchObject({ reply: null, reason: 'timeout', messages: ['Sorry, that took too long.'] });
    expect(status).toBe(11);
  });

  test('goes to the group that is named, else to that of the sole tier', async () => {
    const { home, groups } = await homeWithSupervisor();
    await run(home, ['chat', '--once', 'a']);
    await run(home, ['chat', '--group', 'local:friends', '--once', 'b']);
    expect(groups).toEqual(['local:main', 'local:friends']);
  });

  test('that is refused is that error', async () => {
    const { home } = await homeWithSupervisor();
    await expect(run(home, ['chat', '--once', 'refuse'])).rejects.toMatchObject({
      code: 'refused',
      message: 'not now',
    });
  });

  test('of nothing is refused before anybody is asked', async () => {
    const { home, groups } = await homeWithSupervisor();
    await expect(run(home, ['chat', '--once', ''])).rejects.toMatchObject({ code: 'usage' });
    expect(groups).toEqual([]);
  });

  test('that is interrupted cancels its turn', async () => {
    const { home } = await homeWithSupervisor();
    const screen = testScreen(home);
    const running = chat(screen.context, { once: 'wait' });
    screen.interrupt();
    expect(await running).toMatchObject({ status: 11, data: { reason: 'cancelled' } });
  });
});

test('lines from a pipe are messages one after another; one that fails shows in the exit status', async () => {
  const { home } = await homeWithSupervisor();
  const screen = testScreen(home);
  screen.input.end('one\n\nfail\r\ntwo');
  const { text, status } = await run(home, ['chat'], screen);
  expect(text).toBe('you said one\nSorry, that took too long.\n\n(turn ended: timeout, it took 300 s)\nyou said two\n');
  expect(status).toBe(11);
});

test('lines from a pipe with --json are answered by a line of JSON each', async () => {
  const { home } = await homeWithSupervisor();
  const screen = testScreen(home, { json: true });
  screen.input.end('one\ntwo\n');
  expect(await chat(screen.context, {})).toBe(0);
  const lines = screen.out().trim().split('\n');
  expect(lines.map((line) => JSON.parse(line).reply)).toEqual(['you said \u001b[31mone', 'you said \u001b[31mtwo']);
});

test('a reply that was not sent into the chat is shown all the same', () => {
  const outcome = { reply: 'x', invocation: INVOCATION, timings: TIMINGS, reason: 'completed', detail: null };
  expect(renderOutcome({ ...outcome, messages: [] })).toBe('x');
});

test('steps are told on the error stream where a person watches it', async () => {
  const home = await temporaryHome();
  const { context, err } = testScreen(home);
  const view = quietView({ ...context.screen, showsProgress: true });
  view.step('staged');
  view.progress('reading\u001b[2J\nfiles');
  expect(err()).toBe('⋯ starting container…\n⋯ reading files\n');
});

describe('at a terminal', () => {
  const CTRL_C = '\u0003';
  const CTRL_D = '\u0004';

  const sitDown = async () => {
    const { home } = await homeWithSupervisor();
    const screen = testScreen(home, { isInteractive: true });
    const left = chat(screen.context, { group: 'lobby' });
    await expect.poll(screen.out).toContain('lobby (tier untrusted)');
    return { screen, left };
  };

  test('the text is streamed once, after a progress line that is taken away, and /quit leaves', async () => {
    const { screen, left } = await sitDown();
    screen.input.write('hello\r');
    await expect.poll(screen.out).toContain('you said hello\n');
    screen.input.write('/quit\r');
    expect(await left).toBe(0);
    const out = screen.out();
    expect(out.split('you said hello').length).toBe(2);
    expect(out).toContain('⋯ starting container…\r\u001b[2Kyou said ');
  });

  test('Ctrl-C cancels the turn, and the conversation goes on until Ctrl-D', async () => {
    const { screen, left } = await sitDown();
    screen.input.write('wait\r');
    await expect.poll(screen.out).toContain('starting container');
    screen.input.write(CTRL_C);
    await expect.poll(screen.err).toContain('(turn ended: cancelled)');
    screen.input.write('hello\r');
    await expect.poll(screen.out).toContain('you said hello');
    screen.input.write(CTRL_D);
    expect(await left).toBe(0);
  });

  test('Ctrl-D during a turn leaves at once', async () => {
    const { screen, left } = await sitDown();
    screen.input.write('wait\r');
    await expect.poll(screen.out).toContain('starting container');
    screen.input.write(CTRL_D);
    expect(await left).toBe(0);
  });

  test('Ctrl-C where nothing runs leaves', async () => {
    const { screen, left } = await sitDown();
    screen.input.write(CTRL_C);
    expect(await left).toBe(0);
  });

  test('a refusal is shown and the conversation goes on', async () => {
    const { screen, left } = await sitDown();
    screen.input.write('refuse\r');
    await expect.poll(screen.err).toContain('error: not now');
    screen.input.write('hello\r');
    await expect.poll(screen.out).toContain('you said hello');
    screen.input.write('/quit\r');
    expect(await left).toBe(0);
  });

  test.each([true, false])('nothing begins without a supervisor (at a terminal: %s)', async (isInteractive) => {
    const home = await temporaryHome();
    await run(home, ['init']);
    const screen = testScreen(home, { isInteractive });
    await expect(chat(screen.context, {})).rejects.toMatchObject({ code: 'not-running' });
  });
});
