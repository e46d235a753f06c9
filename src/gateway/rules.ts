/**
 * What of a request line and its headers goes to a provider. Pure; an allowlist throughout: a target is compared, never
 * normalised, and a header that isn't named here is neither sent nor handed back.
 *
 * The one rule of paths: `/model/<provider>` stands for the provider's base URL, and what follows is the API's own
 * path (`/v1/messages` for Anthropic's, whose base URL ends before /v1; `/chat/completions` for the others).
 */
import type { ModelApi, Provider } from './providers.ts';

export interface RequestHead {
  readonly method: string;
  /** The request target as it stood in the request line. */
  readonly target: string;
  /** Lower-case names, as node:http parses them. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
}

export interface Refusal {
  readonly allow: false;
  readonly status: number;
  readonly reason: string;
}

export type Endpoint = 'messages' | 'count-tokens' | 'chat';

export interface Forward {
  readonly allow: true;
  readonly endpoint: Endpoint;
  /** Path and query for the upstream's request line. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
}

export const refusal = (status: number, reason: string): Refusal => ({ allow: false, status, reason });

interface Listed {
  readonly endpoint: Endpoint;
  readonly queries: readonly string[];
}

const LISTED: Readonly<Record<ModelApi, Readonly<Record<string, Listed>>>> = {
  anthropic: {
    '/v1/messages': { endpoint: 'messages', queries: ['', '?beta=true'] },
    '/v1/messages/count_tokens': { endpoint: 'count-tokens', queries: ['', '?beta=true'] },
  },
  'openai-compatible': {
    '/chat/completions': { endpoint: 'chat', queries: [''] },
  },
};

const PASSED_ON: Readonly<Record<ModelApi, readonly string[]>> = {
  anthropic: ['accept', 'user-agent', 'anthropic-version'],
  'openai-compatible': ['accept', 'user-agent'],
};

const PRINTABLE = /^[\x20-\x7e]{1,1000}$/;
/**
 * Betas that may be asked for: about how the model thinks and writes. The others (tools that the provider runs, tools
 * declared inside messages, MCP, other models as fallback or advisor, files) would go round the body's rules.
 */
const BETAS: readonly string[] = [
  'claude-code',
  'context-1m',
  'context-management',
  'compact',
  'effort',
  'extended-cache-ttl',
  'fine-grained-tool-streaming',
  'interleaved-thinking',
  'oauth',
  'output-128k',
  'prompt-caching',
  'prompt-caching-scope',
  'structured-outputs',
  'thinking-token-count',
  'token-counting',
  'token-efficient-tools',
  'tool-examples',
];

const headerText = (head: RequestHead, name: string): string => {
  const value = head.headers[name];
  return typeof value === 'string' ? value : (value ?? []).join(', ');
};

/** Why this target can't even be looked up; undefined when it is an ordinary path. */
const targetProblem = ({ method, target }: RequestHead): Refusal | undefined => {
  if (method === 'CONNECT' || /^[a-z][a-z0-9+.-]*:/i.test(target)) {
    return refusal(403, 'a request with a host in it isn’t one for the model provider');
  }
  if (!target.startsWith('/')) return refusal(400, 'the request target must be a path that begins with /');
  if (target.startsWith('//')) return refusal(400, 'the request target may not begin with //');
  if (!/^[A-Za-z0-9/_.~-]*(\?[A-Za-z0-9=&_-]*)?$/.test(target)) {
    return refusal(400, 'the request target has characters that no path here has (%, \\, control characters …)');
  }
  if (target.split(/[/?]/).some((part) => part === '.' || part === '..')) {
    return refusal(400, 'the request target may not have . or .. segments');
  }
  return undefined;
};

const contentProblem = (head: RequestHead): Refusal | undefined => {
  if (!/^application\/json\s*(;\s*charset="?utf-8"?\s*)?$/i.test(headerText(head, 'content-type'))) {
    return refusal(415, 'the content-type must be application/json');
  }
  const encoding = headerText(head, 'content-encoding');
  return encoding === '' || encoding === 'identity'
    ? undefined
    : refusal(415, 'the body must not be compressed: no content-encoding but identity');
};

/** Every request target that is let through, by what follows `/model/<provider>`. */
const TARGETS = Object.fromEntries(
  Object.entries(LISTED).map(([api, paths]) => [
    api,
    new Map(
      Object.entries(paths).flatMap(([path, { endpoint, queries }]) =>
        queries.map((query) => [path + query, endpoint]),
      ),
    ),
  ]),
);

/** Path and query for the API, where exactly that is listed. */
const findListed = ({ method, target }: RequestHead, { api, name }: Provider) => {
  const prefix = `/model/${name}`;
  const path = target.slice(prefix.length);
  const endpoint = TARGETS[api]?.get(path);
  return endpoint !== undefined && method === 'POST' && target.startsWith(prefix) ? { path, endpoint } : undefined;
};

/** Why a target isn't among those that are let through. */
const unlistedReason = (head: RequestHead, provider: Provider): Refusal => {
  const problem = targetProblem(head);
  if (problem !== undefined) return problem;
  const [path = ''] = head.target.split('?');
  const [, area, name, ...below] = path.split('/');
  if (area !== 'model') return refusal(404, 'there is nothing at this path; models are below /model/<provider>');
  if (name !== provider.name) return refusal(403, `this turn may use one provider: ${provider.name}`);
  if (head.method === 'POST' && Object.hasOwn(LISTED[provider.api], `/${below.join('/')}`)) {
    return refusal(403, 'this query string isn’t let through');
  }
  const allowed = Object.keys(LISTED[provider.api]).map((one) => `POST /model/${provider.name}${one}`);
  return refusal(403, `not among the requests that are let through: ${allowed.join(', ')}`);
};

/** What the client may ask for and what our credential needs, once each; the rest is left out. */
const mergeBetas = (...lists: readonly string[]): string => {
  if (lists.every((list) => list === '')) return '';
  const betas = lists.flatMap((list) => list.split(',')).map((beta) => beta.trim());
  return [...new Set(betas)].filter((beta) => BETAS.includes(beta.replace(/-\d{4}-?\d{2}-?\d{2}$/, ''))).join(',');
};

const headersToSend = (head: RequestHead, provider: Provider): Readonly<Record<string, string>> => {
  const passed = PASSED_ON[provider.api]
    .map((name): [string, string] => [name, headerText(head, name)])
    .filter(([, value]) => PRINTABLE.test(value));
  const auth = provider.authHeaders();
  const betas =
    provider.api === 'anthropic' ? mergeBetas(headerText(head, 'anthropic-beta'), auth['anthropic-beta'] ?? '') : '';
  return {
    ...Object.fromEntries(passed),
    'content-type': 'application/json',
    // Uncompressed, so that what was used can be counted and a secret can be found.
    'accept-encoding': 'identity',
    ...auth,
    ...(betas === '' ? {} : { 'anthropic-beta': betas }),
  };
};

/** Decides about everything but the body. Throws what `provider.authHeaders` throws. */
export const judgeRequest = (head: RequestHead, provider: Provider): Forward | Refusal => {
  const found = findListed(head, provider);
  if (found === undefined) return unlistedReason(head, provider);
  const content = contentProblem(head);
  if (content !== undefined) return content;
  const basePath = provider.upstream.kind === 'http' ? provider.upstream.basePath : '';
  return {
    allow: true,
    endpoint: found.endpoint,
    path: `${basePath}${found.path}`,
    headers: headersToSend(head, provider),
  };
};

const HANDED_BACK =
  /^(content-type|retry-after|retry-after-ms|request-id|x-request-id|x-should-retry|(anthropic|x)-ratelimit-[a-z0-9-]{1,80})$/;

/** The headers of an answer that the container may see. */
export const headersToReturn = (
  headers: Readonly<Record<string, string | readonly string[] | undefined>>,
): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(headers)
      .map(([name, value]): [string, string] => [name.toLowerCase(), typeof value === 'string' ? value : ''])
      .filter(([name, value]) => HANDED_BACK.test(name) && PRINTABLE.test(value)),
  );
