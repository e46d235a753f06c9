import { describe, expect, it } from 'vitest';
import type { Arena, HostProbe, Outcome } from '../../src/redteam/probe.ts';
import { HOST_PROBES } from '../../src/redteam/probes/host.ts';
import { bareArena } from './bare-arena.ts';

type Run = (at: Arena) => Promise<Outcome>;

const controls = HOST_PROBES.flatMap(({ id, control }: HostProbe): [string, Run][] =>
  control.kind === 'naive' ? [[id, control.run]] : [],
);

describe('the control of', () => {
  it.each(controls)('%s is breached', { timeout: 90_000 }, async (_, run) => {
    expect(await run(bareArena())).toMatchObject({ reached: true });
  });
});

describe('the host probes', () => {
  it('have an id each, a control or a reason for none, and a reason where a tier is left out', () => {
    expect(new Set(HOST_PROBES.map(({ id }) => id)).size).toBe(HOST_PROBES.length);
    for (const { id, control, expected, elsewhere } of HOST_PROBES) {
      expect(id).toMatch(/^host-[a-z-]+$/);
      if (control.kind === 'none') expect(control.reason.length, id).toBeGreaterThan(20);
      expect(expected.runc.length === 3 || (elsewhere ?? '').length > 10, id).toBe(true);
    }
    expect(HOST_PROBES.length).toBeGreaterThanOrEqual(20);
  });
});
