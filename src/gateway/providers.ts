/**
 * From configuration and secrets to what the gateway needs to know of a provider. A key is looked up when a request
 * goes out and lives nowhere else.
 */
import type { Config, ProviderConfig } from '../config.ts';
import { FREE, findPrice, type Price } from '../domain/prices.ts';
import { REHEARSAL_MODEL } from '../domain/provider-config.ts';
import { AppError } from '../errors.ts';
import type { Secrets } from '../secrets.ts';

export type ModelApi = 'anthropic' | 'openai-compatible';

export interface Provider {
  readonly name: string;
  readonly api: ModelApi;
  /** The first is the default. */
  readonly models: readonly [string, ...string[]];
  /** What that model costs; null: unknown. */
  readonly priceOf: (model: string) => Price | null;
  readonly upstream: { readonly kind: 'rehearsal' } | HttpUpstream;
  /** Sent with every request. Throws AppError `config` when the secret is missing or can't be sent as a header. */
  authHeaders(): Readonly<Record<string, string>>;
}

export interface HttpUpstream {
  readonly kind: 'http';
  /** Scheme, host and port. */
  readonly origin: string;
  /** '' or a path without a slash at its end; the API's own path is appended. */
  readonly basePath: string;
}

/** Anthropic answers 401 to an OAuth token without it. */
export const OAUTH_BETA = 'oauth-2025-04-20';

const rehearsalProvider = (name: string): Provider => ({
  name,
  api: 'anthropic',
  models: [REHEARSAL_MODEL],
  priceOf: () => FREE,
  upstream: { kind: 'rehearsal' },
  authHeaders: () => ({}),
});

const sendable = (secrets: Secrets, name: string): string => {
  const value = secrets.require(name);
  if (/^[\x21-\x7e]+$/.test(value)) return value;
  throw new AppError({
    code: 'config',
    message: `the secret ${name} can’t be sent as an HTTP header: it has spaces, line breaks or characters beyond ASCII`,
    hint: 'copy the key again into .env, on one line',
  });
};

interface ProviderSources {
  readonly secrets: Secrets;
  readonly prices: Config['prices'];
}

type HttpConfig = Exclude<ProviderConfig, { kind: 'rehearsal' }>;

const authOf = (config: HttpConfig, secrets: Secrets): Readonly<Record<string, string>> => {
  if (config.kind === 'openai-compatible') {
    return config.apiKey === undefined ? {} : { authorization: `Bearer ${sendable(secrets, config.apiKey)}` };
  }
  if (config.oauthToken !== undefined) {
    return { authorization: `Bearer ${sendable(secrets, config.oauthToken)}`, 'anthropic-beta': OAUTH_BETA };
  }
  return config.apiKey === undefined ? {} : { 'x-api-key': sendable(secrets, config.apiKey) };
};

const upstreamOf = (name: string, config: HttpConfig): HttpUpstream => {
  const url = new URL(config.baseUrl);
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') {
    throw new AppError({
      code: 'config',
      message: `providers.${name}.baseUrl: only scheme, host, port and path are allowed`,
      hint: 'put the key into .env and name it with apiKey',
    });
  }
  const path = url.pathname.replace(/\/+$/, '');
  // Anthropic's clients disagree about whether a base URL ends in /v1; both spellings mean the same API here.
  return { kind: 'http', origin: url.origin, basePath: config.kind === 'anthropic' ? path.replace(/\/v1$/, '') : path };
};

const modelsOf = (name: string, [first, ...rest]: readonly string[]): readonly [string, ...string[]] => {
  if (first !== undefined) return [first, ...rest];
  throw new AppError({ code: 'config', message: `providers.${name}.models: name at least one model` });
};

const isFree = (config: HttpConfig): boolean => config.kind === 'openai-compatible' && config.price === 0;

/** Looked up once: a request only asks for a model that is listed. */
const pricesOf = (name: string, config: HttpConfig, table: Config['prices']): Provider['priceOf'] => {
  const find = (model: string) => findPrice(table, { provider: name, api: config.kind, model });
  const prices = new Map(config.models.map((model) => [model, isFree(config) ? FREE : find(model)]));
  return (model) => prices.get(model) ?? null;
};

const httpProvider = (name: string, config: HttpConfig, { secrets, prices }: ProviderSources): Provider => ({
  name,
  api: config.kind,
  models: modelsOf(name, config.models),
  priceOf: pricesOf(name, config, prices),
  upstream: upstreamOf(name, config),
  authHeaders: () => authOf(config, secrets),
});

const resolveProvider = (name: string, config: ProviderConfig, sources: ProviderSources): Provider => {
  if (config.kind === 'rehearsal') return rehearsalProvider(name);
  if (name !== 'rehearsal') return httpProvider(name, config, sources);
  throw new AppError({
    code: 'config',
    message: 'providers.rehearsal: that name belongs to the built-in stand-in',
    hint: 'give the provider another name',
  });
};

/**
 * All providers by name; `rehearsal` is always among them. Throws AppError `config` for a base URL that can't be used,
 * and at once when the provider in use lacks its secret: a home should not start only to fail at the first message.
 */
export const resolveProviders = (config: Config, secrets: Secrets): ReadonlyMap<string, Provider> => {
  const providers = new Map([['rehearsal', rehearsalProvider('rehearsal')]]);
  const sources = { secrets, prices: config.prices };
  for (const [name, one] of Object.entries(config.providers)) providers.set(name, resolveProvider(name, one, sources));
  providers.get(config.provider)?.authHeaders();
  return providers;
};
