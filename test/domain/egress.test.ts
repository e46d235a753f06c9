import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseConfig } from '../../src/config.ts';
import { EGRESS_POLICIES, type Egress, narrow } from '../../src/domain/egress.ts';
import { egressFor } from '../../src/domain/egress-config.ts';
import { policyAgainst } from '../../src/domain/egress-target.ts';
import { GroupId } from '../../src/domain/ids.ts';
import { TIER_NAMES, tierRow } from '../../src/domain/tiers.ts';

const GROUP = GroupId.parse('local:lobby');

const reaches = (egress: Egress, host: string): boolean =>
  policyAgainst(egress, { host, port: 443, isAddress: false }) === undefined;

const planned = (yaml: string, group = GROUP): Egress =>
  egressFor(tierRow('untrusted'), parseConfig(`egress:\n${yaml}`, 'tierclaw.yaml').egress, group);

describe('narrowing', () => {
  const host = fc
    .array(fc.constantFrom('a', 'b', 'c'), { minLength: 2, maxLength: 4 })
    .map((labels) => labels.join('.'));
  const pattern = fc.tuple(fc.boolean(), host).map(([isWild, name]) => (isWild ? `*.${name}` : name));
  const policy = fc.constantFrom(...EGRESS_POLICIES);
  const patterns = fc.array(pattern, { maxLength: 4 });

  it('never reaches a host that wasn’t reached before, and keeps every cap', () => {
    fc.assert(
      fc.property(policy, patterns, policy, fc.option(patterns), fc.array(host), (own, allow, by, hosts, asked) => {
        const before: Egress = { ...tierRow('untrusted').egress, policy: own, allow };
        const after = narrow(before, { policy: by, allow: hosts });
        for (const one of asked) if (reaches(after, one)) expect(reaches(before, one)).toBe(true);
        expect({ ...after, policy: own, allow }).toEqual(before);
      }),
      { numRuns: 3000 },
    );
  });

  it('reaches what both name', () => {
    fc.assert(
      fc.property(patterns, patterns, fc.array(host), (a, b, asked) => {
        const listed = (allow: readonly string[]): Egress => ({
          ...tierRow('untrusted').egress,
          policy: 'allowlist',
          allow,
        });
        const both = narrow(listed(a), { policy: 'allowlist', allow: b });
        for (const one of asked) expect(reaches(both, one)).toBe(reaches(listed(a), one) && reaches(listed(b), one));
      }),
      { numRuns: 3000 },
    );
  });
});

describe('the operator’s egress', () => {
  it.each(TIER_NAMES)('is the tier’s own where nothing is said, for %s', (tier) => {
    const { egress } = parseConfig('', 'tierclaw.yaml');
    expect(egressFor(tierRow(tier), egress, GROUP)).toEqual(tierRow(tier).egress);
  });

  it('denies more ranges in every tier', () => {
    expect(planned('  deny: [93.184.0.0/16, "2606:2800::/32"]').deny).toEqual(['93.184.0.0/16', '2606:2800::/32']);
  });

  it('sets a tier either way', () => {
    const egress = planned(
      '  tiers: { untrusted: { policy: none, ports: [443, 8443], connections: 2, bytesPerTurn: 4096 } }',
    );
    expect(egress).toMatchObject({ policy: 'none', ports: [443, 8443], connections: 2, bytesPerTurn: 4096 });
  });

  it('takes hosts of a tier for an allowlist', () => {
    expect(planned('  tiers: { untrusted: { allow: [example.org] } }')).toMatchObject({
      policy: 'allowlist',
      allow: ['example.org'],
    });
  });

  it.each([
    ['{ policy: none }', 'none', []],
    ['{ allow: [example.org] }', 'allowlist', ['example.org']],
    ['{ policy: public, allow: [example.org] }', 'allowlist', ['example.org']],
    ['{ policy: allowlist }', 'allowlist', []],
    ['{ policy: public }', 'public', []],
  ])('narrows a group to %s', (entry, policy, allow) => {
    expect(planned(`  groups: { "local:lobby": ${entry} }`)).toMatchObject({ policy, allow });
    expect(planned(`  groups: { "local:other": ${entry} }`)).toEqual(tierRow('untrusted').egress);
  });

  it.each([
    '{ policy: public }',
    '{ policy: public, allow: ["*.evil.example"] }',
    '{ allow: [other.org, "*.evil.example"] }',
  ])('does not widen a group by %s', (entry) => {
    const tier = 'tiers: { untrusted: { allow: [example.org] } }';
    const egress = planned(`  ${tier}\n  groups: { "local:lobby": ${entry} }`);
    expect(egress.policy).toBe('allowlist');
    expect(reaches(egress, 'evil.example')).toBe(false);
    expect(reaches(egress, 'a.evil.example')).toBe(false);
    expect(reaches(egress, 'other.org')).toBe(false);
  });

  it.each([
    ['deny: [10.0.0.0/33]', 'egress.deny.0'],
    ['deny: [0x7f.0.0.0/8]', 'egress.deny.0'],
    ['allowPrivate: true', 'egress.allowPrivate'],
    ['loopback: true', 'egress.loopback'],
    ['tiers: { untrusted: { ports: [22] } }', 'egress.tiers.untrusted.ports.0'],
    ['tiers: { untrusted: { ports: [25] } }', 'egress.tiers.untrusted.ports.0'],
    ['tiers: { untrusted: { ports: [0] } }', 'egress.tiers.untrusted.ports.0'],
    ['tiers: { untrusted: { deny: [] } }', 'egress.tiers.untrusted.deny'],
    ['tiers: { untrusted: { allow: [localhost] } }', 'egress.tiers.untrusted.allow.0'],
    ['tiers: { untrusted: { allow: ["*"] } }', 'egress.tiers.untrusted.allow.0'],
    ['tiers: { untrusted: { allow: ["a.*.org"] } }', 'egress.tiers.untrusted.allow.0'],
    ['tiers: { other: {} }', 'egress.tiers'],
    ['groups: { "local:lobby": { ports: [8443] } }', 'egress.groups.local:lobby.ports'],
    ['groups: { "local:lobby": { connections: 5 } }', 'egress.groups.local:lobby.connections'],
    ['groups: { "nonsense": {} }', 'egress.groups'],
  ])('is refused where it says %s', (line, key) => {
    expect(() => planned(`  ${line}`)).toThrow(key);
  });
});
