/**
 * The operator's `egress:` key. A tier may be set either way, a group only narrowed, and the denied ranges only
 * extended: no word of it opens an address that is denied everywhere. Pure.
 */
import { z } from 'zod';
import { EGRESS_POLICIES, type Egress, HOST_PATTERN, lesser, type Narrowing, narrow } from './egress.ts';
import { isCidr } from './egress-address.ts';
import { GroupId } from './ids.ts';
import { TierName, type TierRow } from './tiers.ts';

const MIB = 1024 * 1024;
/** The gateway takes so many connections of one turn. */
const CONNECTIONS_MAX = 64;
const LIST_MAX = 1000;

const Policy = z.enum(EGRESS_POLICIES).describe('none, allowlist (the hosts under allow) or public.');
const HostPattern = z
  .string()
  .max(255)
  .regex(HOST_PATTERN, 'a host is written example.org, or *.example.org for all below it, in lower case')
  .describe('example.org, or *.example.org for every host below it.');
const Allow = z.array(HostPattern).max(LIST_MAX).describe('Hosts that may be reached.');

const Cidr = z
  .string()
  .max(64)
  .refine(isCidr, 'a range is written 192.0.2.0/24 or 2001:db8::/32')
  .describe('A range of addresses, e.g. 198.51.100.0/24.');

/** Below 1024 stand mail, shells, file shares and databases of names: nothing that a chat needs. */
const Port = z
  .number()
  .int()
  .max(65_535)
  .refine((port) => port === 80 || port === 443 || port >= 1024, 'a port is 80, 443, or 1024 and above');

const TierOverride = z
  .strictObject({
    policy: Policy.optional(),
    allow: Allow.optional(),
    ports: z.array(Port).min(1).max(64).optional().describe('Ports that may be reached.'),
    connections: z.number().int().min(1).max(CONNECTIONS_MAX).optional().describe('Connections at once, per group.'),
    connectionsPerMinute: z.number().int().min(1).max(100_000).optional().describe('Connections a minute, per group.'),
    bytesPerTurn: z
      .number()
      .int()
      .min(1024)
      .max(1024 * 1024 * MIB)
      .optional()
      .describe('Bytes of one turn, both ways together.'),
  })
  .describe('What differs from the tier’s own.');

const GroupOverride = z
  .strictObject({ policy: Policy.optional(), allow: Allow.optional() })
  .describe('Narrows what the group’s tier gives; it never widens it.');

export const EgressConfig = z
  .strictObject({
    deny: z
      .array(Cidr)
      .max(LIST_MAX)
      .default([])
      .describe('Ranges that nobody may reach, beyond the private ones that are always denied.'),
    tiers: z.partialRecord(TierName, TierOverride).default({}).describe('By tier.'),
    groups: z.record(GroupId, GroupOverride).default({}).describe('By group id: narrower than the tier.'),
  })
  .describe('What turns may reach of the internet, through the gateway’s proxy.');
export type EgressConfig = z.infer<typeof EgressConfig>;

/** Hosts mean: these and no others, whatever else the group's entry says. */
const narrowing = ({ policy = 'public', allow }: z.infer<typeof GroupOverride>): Narrowing => ({
  policy: allow === undefined ? policy : lesser(policy, 'allowlist'),
  allow: allow ?? null,
});

const ofTier = ({ name, egress }: TierRow, { deny, tiers }: EgressConfig): Egress => {
  const set = tiers[name] ?? {};
  return {
    policy: set.policy ?? (set.allow === undefined ? egress.policy : 'allowlist'),
    allow: set.allow ?? egress.allow,
    ports: set.ports ?? egress.ports,
    deny: [...egress.deny, ...deny],
    connections: set.connections ?? egress.connections,
    connectionsPerMinute: set.connectionsPerMinute ?? egress.connectionsPerMinute,
    bytesPerTurn: set.bytesPerTurn ?? egress.bytesPerTurn,
  };
};

/** What a group of that tier gets. */
export const egressFor = (row: TierRow, config: EgressConfig, group: GroupId): Egress => {
  const own = config.groups[group];
  const tier = ofTier(row, config);
  return own === undefined ? tier : narrow(tier, narrowing(own));
};
