/**
 * What of a request to `/cred/<name>/…` goes to that credential's API. Pure; an allowlist throughout: the path is
 * compared as it stands, never normalised, and a header that isn't named here is neither sent nor handed back.
 */
import { isBeneathPrefix, parsePath } from '../domain/credential-path.ts';
import type { PlannedRoute } from '../domain/credential-plan.ts';
import { type Refusal, type RequestHead, refusal } from './rules.ts';

export interface CredentialForward {
  readonly allow: true;
  readonly route: PlannedRoute;
  readonly method: PlannedRoute['methods'][number];
  /** The one that let it through. */
  readonly prefix: string;
  /** Below the API's base URL, without the query. */
  readonly apiPath: string;
  /** Path and query for the upstream's request line. */
  readonly path: string;
  /** Of the client's, those that are passed on. */
  readonly headers: Readonly<Record<string, string>>;
  readonly hasBody: boolean;
}

const QUERY_CHARS_MAX = 8192;
const QUERY = /^(?:[A-Za-z0-9\-._~!$&'()*+,;=:@/?[\]|]|%[0-9A-Fa-f]{2})*$/;
/** Frameworks that let a query say another method than the request line; by the letters of its name alone. */
const METHOD_OVERRIDE = /^(?:method$|xhttpmethod)/i;

const PASSED_ON: readonly string[] = [
  'accept',
  'accept-language',
  'content-type',
  'git-protocol',
  'idempotency-key',
  'if-match',
  'if-modified-since',
  'if-none-match',
  'if-unmodified-since',
  'prefer',
  'range',
  'user-agent',
  'x-github-api-version',
];

const PRINTABLE = /^[\x20-\x7e]{1,1000}$/;
const BODY_METHODS: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH', 'DELETE']);

const headerText = ({ headers }: RequestHead, name: string): string => {
  const value = headers[name];
  return typeof value === 'string' ? value : (value ?? []).join(', ');
};

/** Frameworks split at `;`, too, skip spaces and brackets, take a dot for `_`, and end a name at a NUL. */
const lettersOfNames = (query: string): string[] =>
  [...new URLSearchParams(query.replaceAll(';', '&')).keys()].map((name) =>
    (name.split('\0')[0] ?? '').replace(/[^a-z]/gi, ''),
  );

const queryProblem = (query: string): Refusal | undefined => {
  if (query.length > QUERY_CHARS_MAX) return refusal(414, `the query is longer than ${QUERY_CHARS_MAX} characters`);
  if (!QUERY.test(query)) return refusal(400, 'the query has characters that no query here has');
  const overrides = lettersOfNames(query).some((letters) => METHOD_OVERRIDE.test(letters));
  return overrides ? refusal(403, 'the query may not name another method') : undefined;
};

interface Target {
  readonly name: string;
  readonly apiPath: string;
  readonly segments: readonly string[];
  readonly query: string;
}

const parseTarget = (target: string): Target | Refusal => {
  const at = target.indexOf('?');
  const path = at < 0 ? target : target.slice(0, at);
  const query = at < 0 ? '' : target.slice(at + 1);
  const [, name = '', rest = ''] = /^\/cred\/([^/]*)(\/.*)?$/.exec(path) ?? [];
  const apiPath = rest === '' ? '/' : rest;
  const parsed = parsePath(apiPath);
  if (!parsed.ok) return refusal(400, parsed.problem);
  return queryProblem(query) ?? { name, apiPath, segments: parsed.segments, query };
};

const findRoute = (routes: readonly PlannedRoute[], name: string): PlannedRoute | Refusal => {
  const route = routes.find((one) => one.name === name);
  if (route !== undefined) return route;
  const names = routes.map((one) => `/cred/${one.name}`).join(', ');
  return refusal(403, `this turn has no such credential; it has: ${names === '' ? 'none' : names}`);
};

/** Whether a body comes along, or why it may not. */
const bodyOf = (head: RequestHead): { readonly hasBody: boolean } | Refusal => {
  const length = headerText(head, 'content-length');
  const hasBody = headerText(head, 'transfer-encoding') !== '' || (length !== '' && Number(length) !== 0);
  if (hasBody && !BODY_METHODS.has(head.method)) return refusal(400, `a ${head.method} request has no body here`);
  const encoding = headerText(head, 'content-encoding');
  return /^(gzip|identity)?$/.test(encoding) ? { hasBody } : refusal(415, 'a body is plain or gzip');
};

const passedHeaders = (head: RequestHead, route: PlannedRoute): Readonly<Record<string, string>> => {
  const names = [...PASSED_ON, ...route.passHeaders, 'content-encoding'];
  const passed = names
    .map((name): [string, string] => [name, headerText(head, name)])
    .filter(([, value]) => PRINTABLE.test(value));
  return {
    'user-agent': 'tierclaw',
    ...Object.fromEntries(passed),
    // Uncompressed, so that a secret can be found.
    'accept-encoding': 'identity',
  };
};

const basePath = ({ baseUrl }: PlannedRoute): string => new URL(baseUrl).pathname.replace(/\/+$/, '');

/** Decides about everything but the body's length. */
export const judgeCredentialRequest = (
  head: RequestHead,
  routes: readonly PlannedRoute[],
): CredentialForward | Refusal => {
  const target = parseTarget(head.target);
  if ('allow' in target) return target;
  const route = findRoute(routes, target.name);
  if ('allow' in route) return route;
  const method = route.methods.find((one) => one === head.method);
  if (method === undefined) return refusal(405, `methods of /cred/${route.name}: ${route.methods.join(', ')}`);
  const prefix = route.pathPrefixes.find((one) => isBeneathPrefix(target.segments, one));
  if (prefix === undefined) return refusal(403, `paths of /cred/${route.name}: ${route.pathPrefixes.join(', ')}`);
  const body = bodyOf(head);
  if ('allow' in body) return body;
  const query = target.query === '' ? '' : `?${target.query}`;
  return {
    allow: true,
    route,
    method,
    prefix,
    apiPath: target.apiPath,
    path: `${basePath(route)}${target.apiPath}${query}`,
    headers: passedHeaders(head, route),
    hasBody: body.hasBody,
  };
};

const HANDED_BACK =
  /^(accept-ranges|cache-control|content-disposition|content-language|content-range|content-type|date|etag|expires|last-modified|link|pragma|retry-after|vary|x-total-count|x-next-page|x-request-id|x-github-[a-z0-9-]{1,80}|x-ratelimit-[a-z0-9-]{1,80}|ratelimit-[a-z0-9-]{1,80})$/;

type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

/**
 * A redirect is handed back, never followed: within the API as a path of this gateway, elsewhere as it is, for the
 * client to go there by itself and without the credential.
 */
const locationOf = (location: string, forward: CredentialForward): string | null => {
  const { route, path } = forward;
  const { origin } = new URL(route.baseUrl);
  if (!URL.canParse(location, `${origin}${path}`)) return null;
  const url = new URL(location, `${origin}${path}`);
  if (url.username !== '' || url.password !== '') return null;
  if (url.origin !== origin) return url.href;
  const base = basePath(route);
  const isBelow = url.pathname === base || url.pathname.startsWith(`${base}/`);
  return isBelow ? `/cred/${route.name}${url.pathname.slice(base.length)}${url.search}` : null;
};

/** The headers of an answer that the container may see. */
export const credentialAnswerHeaders = (headers: Headers, forward: CredentialForward): Record<string, string> => {
  const passed = Object.entries(headers)
    .map(([name, value]): [string, string] => [name.toLowerCase(), [value ?? []].flat().join(', ')])
    .filter(([name, value]) => HANDED_BACK.test(name) && /^[\x20-\x7e]{1,4000}$/.test(value));
  const { location } = headers;
  const target = typeof location === 'string' ? locationOf(location, forward) : null;
  return { ...Object.fromEntries(passed), ...(target === null ? {} : { location: target }) };
};
