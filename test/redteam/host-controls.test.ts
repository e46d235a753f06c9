/** The careless hosts of the controls really are: each falls for the material of its attack. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { AgentAlias, GroupFolder, GroupId } from '../../src/domain/ids.ts';
import { homeAt } from '../../src/home.ts';
import type { Arena, HostProbe, Outcome } from '../../src/redteam/probe.ts';
import { HOST_PROBES } from '../../src/redteam/probes/host.ts';

const arena = (): Arena => {
  const directory = mkdtempSync(join(tmpdir(), 'tierclaw-control-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const home = homeAt(join(directory, 'home'));
  mkdirSync(home.dir);
  writeFileSync(home.envFile, 'A=1\n', { mode: 0o600 });
  writeFileSync(home.configFile, '');
  const victim = {
    id: GroupId.parse('local:victim'),
    name: 'victim',
    folder: GroupFolder.parse('victim'),
    tier: 'untrusted',
    agent: AgentAlias.parse('default'),
    registeredAt: '2026-01-01T00:00:00Z',
  } as const;
  const part: Partial<Arena> = { home, victim, outside: async () => mkdtempSync(join(directory, 'outside-')) };
  return part as Arena;
};

type Run = (at: Arena) => Promise<Outcome>;

const controls = HOST_PROBES.flatMap(({ id, control }: HostProbe): [string, Run][] =>
  control.kind === 'naive' ? [[id, control.run]] : [],
);

describe('the control of', () => {
  it.each(controls)('%s is breached', { timeout: 90_000 }, async (_, run) => {
    expect(await run(arena())).toMatchObject({ reached: true });
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
