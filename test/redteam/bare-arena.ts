/** As much of an arena as the host’s side of a probe needs: a home with its files, a victim, a place outside. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { AgentAlias, GroupFolder, GroupId } from '../../src/domain/ids.ts';
import { homeAt } from '../../src/home.ts';
import type { Arena } from '../../src/redteam/probe.ts';

/** Gone when the test is over. */
export const bareArena = (): Arena => {
  const directory = mkdtempSync(join(tmpdir(), 'tierclaw-arena-'));
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
  const part: Partial<Arena> = {
    home,
    victim,
    canaries: { 'env-secret': 'tc-canary-env-secret-1' } as Arena['canaries'],
    outside: async () => mkdtempSync(join(directory, 'outside-')),
  };
  return part as Arena;
};
