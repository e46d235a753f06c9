/**
 * Who gets which credential: the meet of a tier's right and the operator's scopes. Pure; names and scopes alone, never
 * a value. An invocation's plan has what this gives, and nobody decides about it again.
 */
import type { Credential, Credentials, Method } from './credential-config.ts';
import type { AgentAlias, GroupFolder } from './ids.ts';
import { TIER_NAMES, type TierName, type TierRights, type TierRow, tierRow } from './tiers.ts';

/** Where a secret is looked up: in the home's, or in that agent's own and nowhere else. */
export interface SecretRef {
  readonly name: string;
  readonly agent: AgentAlias | null;
}

export interface PlannedRoute {
  readonly name: string;
  readonly baseUrl: string;
  readonly secret: SecretRef;
  readonly auth:
    | { readonly kind: 'header'; readonly header: string }
    | { readonly kind: 'basic'; readonly user: string };
  readonly methods: readonly Method[];
  readonly pathPrefixes: readonly string[];
  readonly passHeaders: readonly string[];
  readonly caps: RouteCaps;
}

export interface RouteCaps {
  readonly bodyBytes: number;
  readonly answerBytes: number;
  /** Both per group and route, over all of the group's turns. */
  readonly concurrent: number;
  readonly requestsPerMinute: number;
  readonly idleMs: number;
}

export interface PlannedVariable {
  readonly name: string;
  readonly variable: string;
  readonly secret: SecretRef;
}

export interface PlannedCredentials {
  readonly routes: readonly PlannedRoute[];
  readonly environment: readonly PlannedVariable[];
}

export interface CredentialHolder {
  readonly row: TierRow;
  readonly agent: AgentAlias;
  readonly folder: GroupFolder;
}

const rightTo = (rights: TierRights, { kind }: Credential): TierRights['otherCredentials'] =>
  kind === 'environment' ? rights.environmentCredentials : rights.otherCredentials;

const isWithinTiers = (credential: Credential, row: Pick<TierRow, 'name' | 'rights'>): boolean => {
  const right = rightTo(row.rights, credential);
  if (right === 'none') return false;
  // Unmarked, a credential goes to those alone that may have all of them.
  return credential.tiers === undefined ? right === 'all' : credential.tiers.includes(row.name);
};

const isNamed = <T>(scope: readonly T[] | undefined, one: T): boolean => scope === undefined || scope.includes(one);

const isHeldBy = (credential: Credential, { row, agent, folder }: CredentialHolder): boolean =>
  isWithinTiers(credential, row) && isNamed(credential.agents, agent) && isNamed(credential.groups, folder);

const secretOf = ({ secret, perAgent }: Credential, agent: AgentAlias): SecretRef => ({
  name: secret,
  agent: perAgent ? agent : null,
});

const BEARER = 'authorization: Bearer {secret}';

const routeOf = (
  name: string,
  credential: Extract<Credential, { kind: 'route' }>,
  agent: AgentAlias,
): PlannedRoute => ({
  name,
  baseUrl: credential.baseUrl,
  secret: secretOf(credential, agent),
  auth:
    credential.basic === undefined
      ? { kind: 'header', header: credential.header ?? BEARER }
      : { kind: 'basic', user: credential.basic },
  methods: credential.methods,
  pathPrefixes: credential.pathPrefixes,
  passHeaders: credential.passHeaders,
  caps: {
    bodyBytes: credential.bodyBytes,
    answerBytes: credential.answerBytes,
    concurrent: credential.concurrent,
    requestsPerMinute: credential.requestsPerMinute,
    idleMs: Math.ceil(credential.idleSeconds * 1000),
  },
});

/** What this agent gets in this group, by name. */
export const planCredentials = (credentials: Credentials, holder: CredentialHolder): PlannedCredentials => {
  const held = Object.entries(credentials)
    .filter(([, credential]) => isHeldBy(credential, holder))
    .sort(([a], [b]) => (a < b ? -1 : 1));
  const { agent } = holder;
  return {
    routes: held.flatMap(([name, one]) => (one.kind === 'route' ? [routeOf(name, one, agent)] : [])),
    environment: held.flatMap(([name, one]) =>
      one.kind === 'environment' ? [{ name, variable: one.variable, secret: secretOf(one, agent) }] : [],
    ),
  };
};

/** The tiers whose turns can get it at all. */
export const tiersOf = (credential: Credential): readonly TierName[] =>
  TIER_NAMES.filter((name) => isWithinTiers(credential, tierRow(name)));

/** What is wrong with a declaration as it stands beside the others; `path` is below the credential's name. */
export interface CredentialFault {
  readonly path: readonly string[];
  readonly text: string;
  readonly hint?: string;
}

const tierFault = (name: string, credential: Credential): CredentialFault[] =>
  (credential.tiers ?? [])
    .filter((tier) => rightTo(tierRow(tier).rights, credential) === 'none')
    .map((tier) => ({
      path: [name, 'tiers'],
      text: `chats of the tier "${tier}" never get a credential, whatever this file says`,
      hint: 'name other tiers; what each may have: tierclaw plan --tier <tier>',
    }));

const agentFault = (name: string, credential: Credential, agents: readonly string[]): CredentialFault[] =>
  (credential.agents ?? [])
    .filter((alias) => !agents.includes(alias))
    .map((alias) => ({
      path: [name, 'agents'],
      text: `there is no agent "${alias}"; there are: ${agents.join(', ')}`,
    }));

const authFault = (name: string, credential: Credential): CredentialFault[] =>
  credential.kind === 'route' && credential.header !== undefined && credential.basic !== undefined
    ? [{ path: [name, 'basic'], text: 'give header or basic, not both' }]
    : [];

const overlaps = <T>(a: readonly T[] | undefined, b: readonly T[] | undefined): boolean =>
  a === undefined || b === undefined || a.some((one) => b.includes(one));

const meet = (a: Credential, b: Credential): boolean =>
  tiersOf(a).some((tier) => tiersOf(b).includes(tier)) && overlaps(a.agents, b.agents) && overlaps(a.groups, b.groups);

/** Two secrets for one variable of one container: which it gets would be chance. */
const variableFaults = (credentials: Credentials): CredentialFault[] => {
  const all = Object.entries(credentials);
  return all.flatMap(([name, one], at) =>
    all
      .slice(0, at)
      .filter(([, other]) => one.kind === 'environment' && other.kind === 'environment')
      .filter(([, other]) => 'variable' in one && 'variable' in other && one.variable === other.variable)
      .filter(([, other]) => meet(one, other))
      .map(([before]) => ({
        path: [name, 'variable'],
        text: `a turn could get this variable from "${before}", too`,
        hint: 'give the two scopes (tiers, agents, groups) that have no turn in common, or one of them perAgent: true',
      })),
  );
};

export const credentialFaults = (credentials: Credentials, agents: readonly string[]): readonly CredentialFault[] => [
  ...Object.entries(credentials).flatMap(([name, credential]) => [
    ...tierFault(name, credential),
    ...agentFault(name, credential, agents),
    ...authFault(name, credential),
  ]),
  ...variableFaults(credentials),
];
