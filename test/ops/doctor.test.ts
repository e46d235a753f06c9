/** The doctor as a whole: every check answers whatever became of the others. */
import { describe, expect, test, vi } from 'vitest';
import { renderResults } from '../../src/commands/doctor.ts';
import { AppError } from '../../src/errors.ts';
import { CHECKS } from '../../src/ops/checks/index.ts';
import { type Check, type CheckResult, runChecks } from '../../src/ops/doctor.ts';
import { examined, unknown } from './examined.ts';

const checkThat = (run: Check['run']): Check => ({ id: 'one', title: 'One', run });

const only = async (run: Check['run']): Promise<CheckResult | undefined> =>
  (await runChecks([checkThat(run)], await examined()))[0];

describe('a check', () => {
  test.each<[string, Check['run']]>([
    [
      'throws',
      () => {
        throw new AppError({ code: 'config', message: 'it is broken', hint: 'mend it' });
      },
    ],
    ['rejects', () => Promise.reject(new AppError({ code: 'config', message: 'it is broken', hint: 'mend it' }))],
  ])('that %s has failed, with the error’s own hint', async (_, run) => {
    expect(await only(run)).toEqual({
      id: 'one',
      title: 'One',
      status: 'fail',
      found: 'it is broken',
      hint: 'mend it',
    });
  });

  test('that meets what belongs to another user says who may look', async () => {
    const denied = Object.assign(new Error('EACCES: permission denied'), { code: 'EACCES' });
    expect(await only(() => Promise.reject(denied))).toMatchObject({
      status: 'fail',
      hint: 'run this as the user who runs the supervisor',
    });
  });

  test('that never answers has failed after 45 seconds', async () => {
    const patient = await examined();
    vi.useFakeTimers();
    try {
      const results = runChecks([checkThat(() => new Promise(() => undefined))], patient);
      await vi.advanceTimersByTimeAsync(45_000);
      expect(await results).toMatchObject([{ status: 'fail', found: 'no answer within 45 s' }]);
    } finally {
      vi.useRealTimers();
    }
  });
});

describe('all checks', () => {
  test('have ids of their own', () => {
    expect(new Set(CHECKS.map(({ id }) => id)).size).toBe(CHECKS.length);
  });

  test('answer where nothing could be learnt, and name how to mend it', async () => {
    const nothing = unknown('it is not there', 'put it there');
    const patient = await examined({
      config: nothing,
      secrets: nothing,
      engineSocket: nothing,
      engine: nothing,
      image: nothing,
      containers: nothing,
      supervisor: nothing,
      readTile: () => Promise.reject(nothing.ok ? undefined : nothing.error),
    });
    const results = await runChecks(CHECKS, patient);
    expect(results).toHaveLength(CHECKS.length);
    const bad = results.filter(({ status }) => status !== 'ok');
    expect(bad.filter(({ hint }) => hint === null || hint === '')).toEqual([]);
    expect(bad.map(({ id }) => id)).toEqual(
      expect.arrayContaining(['config', 'env-file', 'engine', 'limits', 'runc', 'image', 'supervisor', 'tiles:main']),
    );
  });
});

test('results are aligned, with a symbol each, the hint below, and nothing that a terminal obeys', () => {
  const results: CheckResult[] = [
    { id: 'a', title: 'a', status: 'ok', found: 'fine', hint: null },
    { id: 'b', title: 'longer', status: 'warn', found: 'odd\u001b[2J', hint: 'look' },
    { id: 'c', title: 'c', status: 'fail', found: 'two\nlines', hint: 'mend' },
  ];
  expect(renderResults(results)).toBe(
    [
      '✓ a       fine',
      '! longer  odd',
      '          → look',
      '✗ c       two lines',
      '          → mend',
      '',
      '3 checks: 1 good, 1 to be known, 1 to be mended',
    ].join('\n'),
  );
});
