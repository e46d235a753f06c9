/** What an attempt and its control mean together: nothing is held that its control hasn't shown to be possible. */
import { describe, expect, it } from 'vitest';
import { DEFAULT_TIER } from '../../src/domain/tiers.ts';
import { renderRun } from '../../src/redteam/matrix.ts';
import { PROBES } from '../../src/redteam/probes/index.ts';
import { type ControlReport, judge, notTried, summarise, whyNot } from '../../src/redteam/verdict.ts';

const PLACE = { id: 'capabilities', tier: DEFAULT_TIER, runtime: 'runc' } as const;
const KEPT_OUT = { reached: false, evidence: 'EPERM' };
const GOT_IN = { reached: true, evidence: 'done' };
const FAILED = { error: 'no finding' };
const ABSENT = { missing: 'no such call' };

describe('a verdict', () => {
  it.each([
    { seen: KEPT_OUT, control: GOT_IN, verdict: 'held', shown: 'breached' },
    { seen: KEPT_OUT, control: KEPT_OUT, verdict: 'broken', shown: 'held' },
    { seen: KEPT_OUT, control: FAILED, verdict: 'broken', shown: 'none' },
    { seen: KEPT_OUT, control: ABSENT, verdict: 'not-applicable', shown: 'none' },
    { seen: KEPT_OUT, control: null, verdict: 'held', shown: 'none' },
    { seen: GOT_IN, control: GOT_IN, verdict: 'breached', shown: 'breached' },
    { seen: GOT_IN, control: KEPT_OUT, verdict: 'breached', shown: 'held' },
    { seen: GOT_IN, control: FAILED, verdict: 'breached', shown: 'none' },
    { seen: GOT_IN, control: ABSENT, verdict: 'breached', shown: 'none' },
    { seen: GOT_IN, control: null, verdict: 'breached', shown: 'none' },
    { seen: FAILED, control: GOT_IN, verdict: 'broken', shown: 'breached' },
    { seen: FAILED, control: null, verdict: 'broken', shown: 'none' },
    { seen: ABSENT, control: GOT_IN, verdict: 'held', shown: 'breached' },
    { seen: ABSENT, control: ABSENT, verdict: 'not-applicable', shown: 'none' },
  ] as const)('of $seen with the control $control is $verdict', ({ seen, control, verdict, shown }) => {
    const result = judge(PLACE, seen, control as ControlReport);
    expect(result).toMatchObject({ ...PLACE, verdict, control: shown });
    expect(result.reason === null).toBe(verdict === 'held');
  });
});

describe('a run', () => {
  const held = judge(PLACE, KEPT_OUT, GOT_IN);

  it.each([
    { results: [held], ok: true },
    { results: [held, notTried(PLACE, 'not built')], ok: true },
    { results: [held, judge(PLACE, GOT_IN, GOT_IN)], ok: false },
    { results: [held, judge(PLACE, KEPT_OUT, KEPT_OUT)], ok: false },
  ])('is well only where nothing is breached or broken: $ok', ({ results, ok }) => {
    expect(summarise(results).ok).toBe(ok);
  });

  it('is shown as a matrix, with what is wrong spelled out', () => {
    const text = renderRun([held, { ...judge(PLACE, GOT_IN, GOT_IN), id: 'mount' }], [DEFAULT_TIER], 12.4);
    expect(text).toMatch(/^probe +untrusted +control$/m);
    expect(text).toMatch(/^capabilities +held +breached$/m);
    expect(text).toMatch(/^mount +BREACHED +breached$/m);
    expect(text).toContain('BREACHED  mount in untrusted: done (control: done)');
    expect(text).toContain('2 probes in 12 s: 1 held, 1 breached, 0 broken, 0 not applicable');
  });

  it('tries nothing that isn’t built, and says why', () => {
    const absent = PROBES.filter(({ kind }) => kind === 'absent');
    expect(absent.length).toBeGreaterThan(0);
    for (const probe of absent) expect(whyNot(probe, DEFAULT_TIER, 'runc')).toMatch(/yet/);
  });
});
