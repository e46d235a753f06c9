/**
 * The operator's configuration: one zod schema with a sentence per key, read once. The only reader of `process.env`.
 * It can't register groups or set tiers: those live in the state database and change by an operator's command.
 */
import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { type Complain, parseSettings } from './config-parse.ts';
import { CapsOverride } from './domain/caps.ts';
import { Credentials, SecretCommands } from './domain/credential-config.ts';
import { credentialFaults } from './domain/credential-plan.ts';
import { DiskConfig } from './domain/disk-config.ts';
import { EgressConfig } from './domain/egress-config.ts';
import { AgentAlias } from './domain/ids.ts';
import { Price, PriceKey } from './domain/prices.ts';
import { Provider, ProviderName } from './domain/provider-config.ts';
import { QuotaConfig } from './domain/quota.ts';
import { RetentionConfig } from './domain/retention-config.ts';
import { TierName } from './domain/tiers.ts';
import { isErrno } from './errors.ts';
import type { Home } from './home.ts';

export type ProviderConfig = z.infer<typeof Provider>;

const Ceiling = z
  .strictObject({
    pids: z
      .number()
      .int()
      .min(64)
      .nullable()
      .default(4096)
      .describe('Most processes in any container; null: no ceiling.'),
    memoryShare: z
      .number()
      .min(0.05)
      .max(1)
      .nullable()
      .default(0.75)
      .describe('Most memory of any container, as a share of the machine’s; null: no ceiling.'),
    turnMinutes: z
      .number()
      .positive()
      .max(1440)
      .nullable()
      .default(30)
      .describe('Longest turn in minutes; null: no ceiling.'),
  })
  .describe('Host protection, in every tier: keeps a runaway chat from taking the machine down.');

export const Config = z.strictObject({
  provider: ProviderName.default('rehearsal').describe('The provider that turns use.'),
  providers: z
    .record(ProviderName, Provider)
    .default({})
    .describe('Model providers by name; `rehearsal` is always there.'),
  prices: z
    .record(PriceKey, Price)
    .default({})
    .describe(
      'What models cost, by <model> or <provider>/<model>, * for any characters; goes before the shipped list.',
    ),
  caps: z.partialRecord(TierName, CapsOverride).default({}).describe('By tier: caps that differ from the tier’s own.'),
  egress: EgressConfig.prefault({}),
  quotas: QuotaConfig.prefault({}),
  disk: DiskConfig.prefault({}),
  retention: RetentionConfig.prefault({}),
  credentials: Credentials,
  secrets: SecretCommands,
  agents: z
    .record(AgentAlias, z.strictObject({}))
    .default({})
    .describe('Agents by alias; each has a workspace below agents/<alias>/. `default` is always there.'),
  runtime: z
    .strictObject({
      docker: z
        .strictObject({
          uid: z
            .number()
            .int()
            .min(1, 'uid 0 is refused: containers never run as root')
            .max(2_000_000_000)
            .optional()
            .describe('The user id in containers; default 10001 when the supervisor is root, else its own.'),
          socket: z
            .string()
            .startsWith('/')
            .optional()
            .describe('The engine’s unix socket; default DOCKER_HOST (unix:// only), else /var/run/docker.sock.'),
        })
        .prefault({}),
    })
    .prefault({}),
  ceiling: Ceiling.prefault({}),
  turns: z
    .strictObject({
      concurrent: z
        .number()
        .int()
        .min(1)
        .max(200)
        .optional()
        .describe('Turns at once; default: from cores and memory.'),
      steps: z.number().int().min(1).max(1000).default(50).describe('Model requests in one turn.'),
      commandSeconds: z.number().int().min(1).max(3600).default(120).describe('Longest shell command.'),
    })
    .prefault({}),
  queue: z
    .strictObject({
      backlog: z
        .number()
        .int()
        .min(1)
        .max(100_000)
        .default(1000)
        .describe('Messages that may wait in one chat; newer ones become dead letters.'),
      retries: z
        .number()
        .int()
        .min(0)
        .max(20)
        .default(5)
        .describe('So often a message is tried again after trouble with engine or provider.'),
      retrySeconds: z
        .number()
        .min(0.01)
        .max(300)
        .default(5)
        .describe('The first wait; each further one is twice as long.'),
    })
    .prefault({}),
  history: z
    .strictObject({
      window: z.number().int().min(1).max(1_000_000).default(10_000).describe('Newest messages in a filtered copy.'),
    })
    .prefault({}),
  store: z
    .strictObject({
      publishEverySeconds: z
        .number()
        .min(0)
        .max(3600)
        .default(5)
        .describe('A published copy of the message database is renewed at most this often.'),
    })
    .prefault({}),
});
export type Config = z.infer<typeof Config>;

/** Channel instances that a group may lie on; the part of its id before the colon. */
export const CHANNEL_INSTANCES: readonly string[] = ['local'];

const checkProvider = (config: Config, complain: Complain): void => {
  if (config.provider === 'rehearsal' || config.providers[config.provider] !== undefined) return;
  const known = ['rehearsal', ...Object.keys(config.providers)].join(', ');
  throw complain(['provider'], `there is no provider "${config.provider}"; there are: ${known}`);
};

const checkSecrets = (config: Config, complain: Complain): void => {
  for (const [name, provider] of Object.entries(config.providers)) {
    if (provider.kind !== 'anthropic') continue;
    if ((provider.apiKey === undefined) !== (provider.oauthToken === undefined)) continue;
    throw complain(['providers', name], 'give exactly one of apiKey and oauthToken');
  }
};

const checkCredentials = ({ credentials, agents }: Config, complain: Complain): void => {
  const [fault] = credentialFaults(credentials, ['default', ...Object.keys(agents)]);
  if (fault !== undefined) throw complain(['credentials', ...fault.path], fault.text, fault.hint);
};

/** Parses the text of a `tierclaw.yaml`; `file` is named in errors. Throws AppError `config` with file, line and key. */
export const parseConfig = (text: string, file: string): Config => {
  const { settings, complain } = parseSettings(Config, text, file);
  checkProvider(settings, complain);
  checkSecrets(settings, complain);
  checkCredentials(settings, complain);
  return settings;
};

/** The home's configuration; a missing file means all defaults. */
export const loadConfig = async (home: Home): Promise<Config> => {
  try {
    return parseConfig(await readFile(home.configFile, 'utf8'), home.configFile);
  } catch (thrown) {
    if (isErrno(thrown, 'ENOENT')) return parseConfig('', home.configFile);
    throw thrown;
  }
};

/** What the process's environment says; read here and nowhere else. */
export interface Environment {
  readonly home: string | undefined;
  readonly dockerHost: string | undefined;
  readonly logLevel: string | undefined;
}

export const readEnvironment = (): Environment => ({
  home: process.env.TIERCLAW_HOME,
  dockerHost: process.env.DOCKER_HOST,
  logLevel: process.env.TIERCLAW_LOG,
});
