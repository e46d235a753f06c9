/**
 * Environment credentials: the one place where a secret's value meets a container, at the very start of it. What the
 * plan doesn't name isn't there; what isn't on record isn't given.
 */
import type { Logger } from 'pino';
import type { Audit } from '../audit.ts';
import type { PlannedVariable } from '../domain/credential-plan.ts';
import { valueProblem } from '../domain/credential-variable.ts';
import type { InvocationPlan } from '../domain/plan.ts';
import type { Secrets } from '../secrets.ts';

export interface EnvironmentDeps {
  readonly secrets: Pick<Secrets, 'get'>;
  readonly audit: Pick<Audit, 'record'>;
  readonly logger: Logger;
}

/** A turn goes on without what the operator has to mend: it has less than it may, never more. */
const findValue = ({ secrets, logger }: EnvironmentDeps, { name, secret }: PlannedVariable): string | null => {
  const value = secrets.get(secret.name, secret.agent);
  const problem = value === undefined ? 'it is not there' : valueProblem(value);
  if (value !== undefined && problem === null) return value;
  logger.error(
    { credential: name, secret: secret.name, agent: secret.agent },
    `a turn does without an environment credential: ${problem}; see: tierclaw secrets check`,
  );
  return null;
};

/** Variables and values of this turn's container. Throws AppError where the audit trail can't be written. */
export const credentialEnvironment = (plan: InvocationPlan, deps: EnvironmentDeps): Record<string, string> => {
  const { group, invocation, tier, agent } = plan;
  const environment: Record<string, string> = {};
  for (const planned of plan.credentials.environment) {
    const value = findValue(deps, planned);
    if (value === null) continue;
    const { name, variable } = planned;
    deps.audit.record({
      kind: 'credential-given',
      group: group.id,
      invocation,
      tier,
      agent,
      credential: name,
      variable,
    });
    environment[variable] = value;
  }
  return environment;
};
