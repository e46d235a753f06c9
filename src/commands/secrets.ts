/**
 * `tierclaw secrets`: which secrets there are, where each comes from, what it is for and who gets it; and whether all of
 * them can be had. Never a value, and nothing from which one could be told.
 */
import { type Config, loadConfig } from '../config.ts';
import { credentialNeeds, needProblems, scopeText } from '../domain/credential-needs.ts';
import type { SecretRef } from '../domain/credential-plan.ts';
import { EXIT_STATUS } from '../errors.ts';
import { readSecrets } from '../secrets/live.ts';
import type { CommandContext, CommandResult } from './context.ts';
import { renderTable } from './table.ts';
import { terminalLine } from './terminal.ts';

/** A path, and what is wrong with it. */
const LINE_CHARS_MAX = 1_000;

interface Use {
  readonly secret: SecretRef;
  readonly purpose: string;
  readonly reaches: string;
}

interface Row {
  readonly name: string;
  /** null: the home. */
  readonly agent: string | null;
  /** null: it is needed, and nowhere to be found. */
  readonly from: string | null;
  readonly for: readonly string[];
  readonly reaches: readonly string[];
}

const agentsOf = ({ agents }: Config): string[] => [
  'default',
  ...Object.keys(agents).filter((one) => one !== 'default'),
];

const providerUses = ({ providers }: Config): Use[] =>
  Object.entries(providers).flatMap(([name, provider]) => {
    const named = [
      ...('apiKey' in provider && provider.apiKey !== undefined ? [provider.apiKey] : []),
      ...('oauthToken' in provider && provider.oauthToken !== undefined ? [provider.oauthToken] : []),
    ];
    const secrets = named.map((secret) => ({ name: secret, agent: null }));
    return secrets.map((secret) => ({ secret, purpose: `providers.${name}`, reaches: 'no container' }));
  });

const credentialUses = (config: Config): Use[] =>
  credentialNeeds(config.credentials, agentsOf(config)).map(({ name, credential, secret }) => ({
    secret,
    purpose: `credentials.${name}`,
    reaches:
      credential.kind === 'route'
        ? `/cred/${name} → ${new URL(credential.baseUrl).host} for ${scopeText(credential)}`
        : `${credential.variable} in containers of ${scopeText(credential)}`,
  }));

const keyOf = ({ name, agent }: SecretRef): string => `${agent ?? ''}/${name}`;

interface Known {
  readonly secret: SecretRef | { readonly name: string; readonly agent: string | null };
  readonly from: string;
}

const rowsOf = (known: readonly Known[], uses: readonly Use[]): Row[] => {
  const sources = new Map(known.map(({ secret, from }) => [`${secret.agent ?? ''}/${secret.name}`, { secret, from }]));
  for (const { secret } of uses) {
    if (!sources.has(keyOf(secret))) sources.set(keyOf(secret), { secret, from: '' });
  }
  return [...sources]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, { secret, from }]) => {
      const own = uses.filter((use) => keyOf(use.secret) === key);
      return {
        name: secret.name,
        agent: secret.agent,
        from: from === '' ? null : from,
        for: own.map(({ purpose }) => purpose),
        reaches: own.map(({ reaches }) => reaches),
      };
    });
};

const render = (rows: readonly Row[]): string => {
  if (rows.length === 0) return 'no secrets, and nothing that needs one';
  const cells = rows.map((row) => [
    row.name,
    row.agent ?? 'the home',
    terminalLine(row.from ?? 'MISSING', LINE_CHARS_MAX),
    row.for.join(', ') || 'nothing',
    row.reaches.join('; ') || '–',
  ]);
  return renderTable([['secret', 'of', 'from', 'for', 'reaches'], ...cells]);
};

/** Runs no command: what those print is only known to `check` and to the supervisor. */
export const listSecrets = async ({ home }: CommandContext): Promise<CommandResult> => {
  const config = await loadConfig(home);
  const secrets = await readSecrets({ home, commands: {} });
  const known: Known[] = [
    ...secrets.list().map(({ name, owner, origin }) => ({ secret: { name, agent: owner }, from: origin })),
    ...Object.entries(config.secrets).map(([name, { command }]) => ({
      secret: { name, agent: null },
      from: `command ${command[0]}`,
    })),
  ];
  const rows = rowsOf(known, [...providerUses(config), ...credentialUses(config)]);
  const problems = secrets.problems().map(({ message }) => message);
  const text = [render(rows), ...problems.map((problem) => `! ${terminalLine(problem, LINE_CHARS_MAX)}`)].join('\n');
  return { text, data: { secrets: rows, problems } };
};

interface Problem {
  readonly found: string;
  readonly hint: string | null;
}

/** Where a file or a command fails, the secret is most likely there: a line in `.env` would be a second one. */
const missingHint = (isSourceBroken: boolean): string =>
  isSourceBroken
    ? 'mend what is named above first: the secret may be there'
    : 'add the line NAME=… to the .env that it belongs to: tierclaw secrets list';

const providerProblems = (config: Config, get: (name: string) => string | undefined, hint: string): Problem[] =>
  providerUses(config)
    .filter(({ secret }) => (get(secret.name) ?? '') === '')
    .map(({ secret, purpose }) => ({
      found: `${purpose}: the secret ${secret.name} is not there`,
      hint,
    }));

/** Reads every file and runs every command, as the supervisor does. */
export const checkSecrets = async ({ home }: CommandContext): Promise<CommandResult> => {
  const config = await loadConfig(home);
  const secrets = await readSecrets({ home, commands: config.secrets });
  const needs = needProblems(credentialNeeds(config.credentials, agentsOf(config)), secrets.get);
  const broken = secrets.problems();
  const hintOfMissing = missingHint(broken.length > 0);
  const problems: Problem[] = [
    ...broken.map(({ message, hint }) => ({ found: message, hint: hint ?? null })),
    ...providerProblems(config, secrets.get, hintOfMissing),
    ...needs.map((found) => ({ found, hint: hintOfMissing })),
  ];
  const count = secrets.list().length;
  const lines = problems.map(
    ({ found, hint }) =>
      `✗ ${terminalLine(found, LINE_CHARS_MAX)}${hint === null ? '' : `\n  ${terminalLine(hint, LINE_CHARS_MAX)}`}`,
  );
  const text = problems.length === 0 ? `✓ ${count} secrets, all as they should be` : lines.join('\n');
  return {
    text,
    data: { ok: problems.length === 0, secrets: count, problems },
    ...(problems.length === 0 ? {} : { status: EXIT_STATUS.config }),
  };
};
