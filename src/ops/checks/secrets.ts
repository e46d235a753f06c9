/** Checks of secrets: whether all sources can be read, whether each credential has its secret, and who sees which. */
import { credentialNeeds, needProblems, scopeText } from '../../domain/credential-needs.ts';
import { type Check, type Examined, type Finding, failure, good, ifKnown, warning } from '../doctor.ts';

const checkSources = ({ secrets, secretProblems }: Examined) =>
  ifKnown(secrets, (): Finding => {
    const [first] = secretProblems;
    if (first === undefined) return good('files are private and understood, commands give their secrets');
    const found = secretProblems.map(({ message }) => message).join('; ');
    return failure(found, first.hint ?? 'tierclaw secrets check');
  });

const agentsOf = (agents: object): string[] => [
  'default',
  ...Object.keys(agents).filter((alias) => alias !== 'default'),
];

const checkCredentials = ({ config, secrets }: Examined) =>
  ifKnown(config, ({ credentials, agents }) =>
    ifKnown(secrets, ({ get }): Finding => {
      const problems = needProblems(credentialNeeds(credentials, agentsOf(agents)), get);
      const count = Object.keys(credentials).length;
      if (problems.length === 0) return good(count === 0 ? 'none declared' : `${count}, each with its secret`);
      return failure(problems.join('; '), 'add the line NAME=… to the .env that it belongs to: tierclaw secrets list');
    }),
  );

/** By value, not by name: what reaches a container under another name counts too. */
const leaks = ({ secrets, plans }: Examined): string[] => {
  if (!secrets.ok) return [];
  const { redact } = secrets.value;
  return plans.flatMap(({ plan, env }) =>
    Object.entries(env)
      .filter(([, value]) => redact(value) !== value)
      .map(([name]) => `${name} (${plan.tier})`),
  );
};

/** On purpose: whoever runs in the container has the value. */
const declared = ({ config }: Examined): string[] =>
  config.ok
    ? Object.values(config.value.credentials).flatMap((one) =>
        one.kind === 'environment' ? [`${one.variable} (${scopeText(one)})`] : [],
      )
    : [];

const checkContainerSecrets = (examined: Examined) =>
  ifKnown(examined.secrets, (): Finding => {
    const shown = [...leaks(examined), ...declared(examined)];
    if (shown.length > 0) {
      return warning(
        `containers can read: ${shown.join(', ')}`,
        'whatever runs in those containers knows the value; give only what may leak',
      );
    }
    const names = new Set(examined.plans.flatMap(({ env }) => Object.keys(env)));
    return good(`none; containers get ${[...names].join(', ')} and no secret`);
  });

export const secretChecks: readonly Check[] = [
  { id: 'secret-sources', title: 'sources of secrets', run: checkSources },
  { id: 'credentials', title: 'credentials', run: checkCredentials },
  { id: 'container-secrets', title: 'secrets in containers', run: checkContainerSecrets },
];
