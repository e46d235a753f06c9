/** Which secrets the configuration asks for, and who gets them, for whoever examines a home. Pure; never a value. */
import type { Credential, Credentials } from './credential-config.ts';
import { type SecretRef, tiersOf } from './credential-plan.ts';
import { valueProblem } from './credential-variable.ts';
import { AgentAlias } from './ids.ts';

export interface CredentialNeed {
  readonly name: string;
  readonly credential: Credential;
  readonly secret: SecretRef;
}

const ownersOf = ({ perAgent, agents }: Credential, all: readonly string[]): readonly (AgentAlias | null)[] =>
  perAgent ? (agents ?? all).map((alias) => AgentAlias.parse(alias)) : [null];

/** `agents`: all aliases of the home. */
export const credentialNeeds = (credentials: Credentials, agents: readonly string[]): readonly CredentialNeed[] =>
  Object.entries(credentials).flatMap(([name, credential]) =>
    ownersOf(credential, agents).map((agent) => ({ name, credential, secret: { name: credential.secret, agent } })),
  );

/** `trusted; agents alice; groups team`: what isn't named doesn't narrow. */
export const scopeText = (credential: Credential): string =>
  [
    tiersOf(credential).join(', ') || 'no tier',
    ...(credential.agents === undefined ? [] : [`agents ${credential.agents.join(', ')}`]),
    ...(credential.groups === undefined ? [] : [`groups ${credential.groups.join(', ')}`]),
  ].join('; ');

/** `name` or `name of the agent alice`. */
export const secretText = ({ name, agent }: SecretRef): string =>
  agent === null ? name : `${name} of the agent ${agent}`;

/** What is wrong with the secrets of all credentials, in words; none has a value in it. */
export const needProblems = (
  needs: readonly CredentialNeed[],
  get: (name: string, agent: string | null) => string | undefined,
): readonly string[] =>
  needs.flatMap(({ name, secret }) => {
    const value = get(secret.name, secret.agent);
    const problem = value === undefined || value === '' ? 'it is not there' : valueProblem(value);
    return problem === null ? [] : [`credentials.${name}: the secret ${secretText(secret)}: ${problem}`];
  });
