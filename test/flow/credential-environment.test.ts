import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import type { AuditEvent } from '../../src/audit.ts';
import { parseConfig } from '../../src/config.ts';
import { containerSpec } from '../../src/domain/spec.ts';
import { TIER_NAMES } from '../../src/domain/tiers.ts';
import { credentialEnvironment } from '../../src/flow/credential-environment.ts';
import { initFrame } from '../../src/flow/init.ts';
import { homeAt } from '../../src/home.ts';
import { exampleGroup, examplePlan } from '../../src/planning.ts';
import { createSecrets } from '../../src/secrets.ts';

const KEY = 'sk-0123456789';
const YAML = 'credentials: { a: { kind: environment, variable: API_KEY, secret: KEY, tiers: [main, trusted] } }';
const context = { home: homeAt('/h'), config: parseConfig(YAML, 't.yaml'), image: 'i' };

const give = (value: string | null, tier: (typeof TIER_NAMES)[number] = 'trusted') => {
  const plan = examplePlan(context, exampleGroup(tier));
  const events: AuditEvent[] = [];
  const lines: string[] = [];
  const environment = credentialEnvironment(plan, {
    secrets: createSecrets(new Map(value === null ? [] : [['KEY', value]]), '.env'),
    audit: { record: (event) => void events.push(event) },
    logger: pino({ level: 'trace' }, { write: (line: string) => void lines.push(line) }),
  });
  return { plan, environment, events, lines };
};

describe('environment credentials at the start of a container', () => {
  it.each(TIER_NAMES)('are there in %s if the plan has them, and on record', (tier) => {
    const { environment, events, plan } = give(KEY, tier);
    const expected = plan.rights.environmentCredentials === 'none' ? {} : { API_KEY: KEY };
    expect(environment).toEqual(expected);
    expect(events.map(({ kind, variable }) => [kind, variable])).toEqual(
      Object.keys(expected).map((name) => ['credential-given', name]),
    );
    expect(JSON.stringify([plan, containerSpec(plan), events])).not.toContain(KEY);
  });

  it.each([null, '', '12345', 'a\0bcdef', 'x'.repeat(40_000)])('are left out where the value is no good', (value) => {
    const { environment, events, lines } = give(value);
    expect([environment, events]).toEqual([{}, []]);
    expect(lines.join('')).toContain('does without an environment credential');
  });

  it('stop the turn where they can’t be put on record', () => {
    const plan = examplePlan(context, exampleGroup('trusted'));
    const deps = {
      secrets: createSecrets(new Map([['KEY', KEY]]), '.env'),
      logger: pino({ level: 'silent' }),
      audit: {
        record: () => {
          throw new Error('no space left');
        },
      },
    };
    expect(() => credentialEnvironment(plan, deps)).toThrow('no space left');
  });

  it('are told to the runner by their names', () => {
    const { plan } = give(KEY);
    const settings = { api: 'anthropic' as const, steps: 1, commandMs: 1 };
    const frame = initFrame({ plan, settings, instructions: '', transcript: [], messages: [] });
    expect(frame.credentials).toEqual({ routes: [], environment: ['API_KEY'] });
    expect(JSON.stringify(frame)).not.toContain(KEY);
  });
});
