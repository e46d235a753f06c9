/** Checks of what leaves the host: whether the provider answers, and which secrets containers get to see. */
import { type Check, type Examined, type Finding, good, ifKnown, warning } from '../doctor.ts';

/** By value, not by name: what reaches a container under another name counts too. */
const checkContainerSecrets = ({ secrets, plans }: Examined) =>
  ifKnown(secrets, ({ redact }): Finding => {
    const shown = plans.flatMap(({ plan, env }) =>
      Object.entries(env)
        .filter(([, value]) => redact(value) !== value)
        .map(([name]) => `${name} (${plan.tier})`),
    );
    if (shown.length > 0) {
      return warning(
        `containers can read: ${shown.join(', ')}`,
        'whatever runs in those containers knows the value; give only what may leak',
      );
    }
    const names = new Set(plans.flatMap(({ env }) => Object.keys(env)));
    return good(`none; containers get ${[...names].join(', ')} and no secret`);
  });

export const providerChecks: readonly Check[] = [
  { id: 'provider', title: 'provider', run: ({ preflight }) => preflight() },
  { id: 'container-secrets', title: 'secrets in containers', run: checkContainerSecrets },
];
