import { setImmediate as tick } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { GroupId, InvocationId } from '../../src/domain/ids.ts';
import { createQueue, type Turn, type WaitingSession } from '../../src/flow/queue.ts';

const group = (name: string): GroupId => GroupId.parse(`local:${name}`);

/** A queue over a list, whose turns end when the test says so. */
const queueOver = (concurrent: number, waiting: WaitingSession[]) => {
  const started: Turn[] = [];
  const finish = new Map<string, () => void>();
  const followed: Turn[] = [];
  const clock = { ms: 1_000_000 };
  const bugs: unknown[] = [];
  let next = 0;
  const queue = createQueue({
    concurrent,
    waiting: () => [...waiting],
    newInvocation: () => InvocationId.parse(`0000000000000000000000000${(next++).toString(36).toUpperCase()}`),
    run: (turn) => {
      started.push(turn);
      const at = waiting.findIndex((one) => one.group === turn.group && one.session === turn.session);
      waiting.splice(at, 1);
      return new Promise((resolve) => finish.set(turn.group, resolve));
    },
    follow: (turn) => followed.push(turn),
    clock: () => clock.ms,
    onBug: (_, thrown) => bugs.push(thrown),
  });
  const end = async (name: string): Promise<void> => {
    finish.get(group(name))?.();
    await tick();
    await tick();
  };
  return { queue, started, end, followed, clock };
};

const waits = (name: string, session: 'default' | 'maintenance' = 'default', notBefore = 0): WaitingSession => ({
  group: group(name),
  session,
  messages: 1,
  notBefore,
});

const names = (turns: readonly Turn[]): string[] => turns.map((turn) => `${turn.group.slice(6)}/${turn.session}`);

describe('the queue', () => {
  it('starts the longest waiting first, no more than the limit at once', async () => {
    const { queue, started, end } = queueOver(2, [waits('a'), waits('b'), waits('c')]);
    queue.wake();
    expect(names(started)).toEqual(['a/default', 'b/default']);
    await end('a');
    expect(names(started)).toEqual(['a/default', 'b/default', 'c/default']);
  });

  it('never runs two turns of one session, however often it is woken', async () => {
    const waiting = [waits('a')];
    const { queue, started, end } = queueOver(5, waiting);
    queue.wake();
    waiting.push(waits('a'));
    queue.wake();
    queue.wake();
    expect(started).toHaveLength(1);
    await end('a');
    expect(started).toHaveLength(2);
  });

  it('runs the two sessions of one group side by side', () => {
    const { queue, started } = queueOver(5, [waits('a'), waits('a', 'maintenance')]);
    queue.wake();
    expect(names(started)).toEqual(['a/default', 'a/maintenance']);
  });

  it('serves who was served longest ago, however much another has waiting', async () => {
    const waiting = [waits('greedy')];
    const { queue, started, end } = queueOver(1, waiting);
    queue.wake();
    for (const name of ['greedy', 'b', 'c']) waiting.push(waits(name));
    await end('greedy');
    await end('b');
    await end('c');
    expect(names(started)).toEqual(['greedy/default', 'b/default', 'c/default', 'greedy/default']);
  });

  it('leaves a session alone until its retry is due', () => {
    const waiting = [waits('a', 'default', 1_005_000)];
    const { queue, started, clock } = queueOver(1, waiting);
    queue.wake();
    expect(started).toEqual([]);
    clock.ms += 5_000;
    queue.wake();
    expect(names(started)).toEqual(['a/default']);
  });

  it('does not wait for a retry that a clock since set back has dated an hour ahead', () => {
    const { queue, started } = queueOver(1, [waits('a', 'default', 1_000_000 + 3_600_000)]);
    queue.wake();
    expect(names(started)).toEqual(['a/default']);
  });

  it('tells a running turn that messages wait for its session, even when every slot is taken', () => {
    const waiting = [waits('a')];
    const { queue, started, followed } = queueOver(1, waiting);
    queue.wake();
    waiting.push(waits('a'), waits('b'));
    queue.wake();
    expect(followed).toEqual(started);
  });

  it('cancels a running turn by its id, and says so when there is none', () => {
    const { queue, started } = queueOver(1, [waits('a')]);
    queue.wake();
    const [turn] = started;
    expect(queue.cancel('0000000000000000000000000Z')).toBe(false);
    expect(queue.cancel(turn?.invocation ?? '')).toBe(true);
    expect(turn?.cancelled.reason).toBe('person');
  });

  it('starts nothing once closed, cuts off what runs and waits for it', async () => {
    const { queue, started, end } = queueOver(1, [waits('a'), waits('b')]);
    queue.wake();
    const closed = queue.close();
    expect(started[0]?.cancelled.reason).toBe('shutdown');
    await end('a');
    await closed;
    queue.wake();
    expect(started).toHaveLength(1);
  });

  it('reports a turn that throws as a bug and frees its slot later', async () => {
    const bugs: unknown[] = [];
    let runs = 0;
    const queue = createQueue({
      concurrent: 1,
      waiting: () => (runs < 2 ? [waits('a')] : []),
      newInvocation: () => InvocationId.parse('00000000000000000000000000'),
      run: async () => {
        runs += 1;
        throw new Error('broken');
      },
      follow: () => {},
      clock: () => 0,
      onBug: (_, thrown) => bugs.push(thrown),
    });
    queue.wake();
    await tick();
    expect(bugs).toHaveLength(1);
    expect(queue.running()).toHaveLength(1);
    await queue.close();
  });

  it('survives a database that can’t be read when a turn ends', async () => {
    let looks = 0;
    const queue = createQueue({
      concurrent: 1,
      waiting: () => {
        looks += 1;
        if (looks > 1) throw new Error('disk I/O error');
        return [waits('a')];
      },
      newInvocation: () => InvocationId.parse('00000000000000000000000000'),
      run: async () => undefined,
      follow: () => {},
      clock: () => 0,
      onBug: async () => undefined,
    });
    queue.wake();
    await tick();
    expect(looks).toBe(2);
    await expect(queue.close()).resolves.toBeUndefined();
  });

  it('goes on when even the report of a bug fails', async () => {
    const queue = createQueue({
      concurrent: 1,
      waiting: () => [waits('a')],
      newInvocation: () => InvocationId.parse('00000000000000000000000000'),
      run: () => Promise.reject(new Error('broken')),
      follow: () => {},
      clock: () => 0,
      onBug: () => Promise.reject(new Error('the disk is full')),
    });
    queue.wake();
    await tick();
    await expect(queue.close()).resolves.toBeUndefined();
  });
});
