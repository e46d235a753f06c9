/** What of the internet a turn may reach: a policy, and how it is narrowed. Pure; a group's own word only ever narrows. */

/** From nothing to everything public; the order is the order of rights. */
export const EGRESS_POLICIES = ['none', 'allowlist', 'public'] as const;
export type EgressPolicy = (typeof EGRESS_POLICIES)[number];

/** What a tier has, or one turn. Connections are counted over all of a group's turns. */
export interface Egress {
  readonly policy: EgressPolicy;
  /** Host patterns, `example.org` or `*.example.org`; they count under the policy `allowlist` alone. */
  readonly allow: readonly string[];
  readonly ports: readonly number[];
  /** Ranges in CIDR form that the home denies, beyond those that are denied everywhere. */
  readonly deny: readonly string[];
  /** At once. */
  readonly connections: number;
  readonly connectionsPerMinute: number;
  /** Both directions together, of one turn. */
  readonly bytesPerTurn: number;
}

const LABEL = '[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?';
/** A name with two labels at least, or `*.` and such a name. */
export const HOST_PATTERN = new RegExp(`^(?:\\*\\.)?(?:${LABEL}\\.)+${LABEL}$`);

const WILDCARD = '*.';
/** `*.example.org` as `.example.org`. */
const suffixOf = (pattern: string): string | null => (pattern.startsWith(WILDCARD) ? pattern.slice(1) : null);

/** True where every host that fits `inner` fits `outer`, too; a host is a pattern that only itself fits. */
const isWithin = (inner: string, outer: string): boolean => {
  const suffix = suffixOf(outer);
  return suffix === null ? inner === outer : inner === outer || inner.endsWith(suffix);
};

/** True for a host name in lower case that one of the patterns names. */
export const matchesHost = (host: string, patterns: readonly string[]): boolean =>
  patterns.some((pattern) => isWithin(host, pattern));

/** Two patterns have in common all of the narrower one or nothing. */
const common = (a: readonly string[], b: readonly string[]): readonly string[] => [
  ...new Set([
    ...a.filter((inner) => b.some((outer) => isWithin(inner, outer))),
    ...b.filter((inner) => a.some((outer) => isWithin(inner, outer))),
  ]),
];

/** The one that gives less. */
export const lesser = (a: EgressPolicy, b: EgressPolicy): EgressPolicy =>
  EGRESS_POLICIES.indexOf(a) < EGRESS_POLICIES.indexOf(b) ? a : b;

export interface Narrowing {
  readonly policy: EgressPolicy;
  /** null: says nothing of hosts. */
  readonly allow: readonly string[] | null;
}

/** Whatever `by` says, the outcome allows no host that `egress` doesn't. */
export const narrow = (egress: Egress, by: Narrowing): Egress => {
  const policy = lesser(egress.policy, by.policy);
  if (policy !== 'allowlist') return { ...egress, policy, allow: [] };
  const hosts = by.allow ?? egress.allow;
  return { ...egress, policy, allow: egress.policy === 'allowlist' ? common(egress.allow, hosts) : hosts };
};
