/**
 * Credentials as the operator declares them: routes through the gateway, and environment variables, each with its
 * scopes. Pure. A secret is named here, never written; no scope lifts a tier's right.
 */
import { z } from 'zod';
import { parsePath } from './credential-path.ts';
import { isReservedVariable } from './credential-variable.ts';
import { AgentAlias, GroupFolder } from './ids.ts';
import { SecretName } from './provider-config.ts';
import { TierName } from './tiers.ts';

const MIB = 1024 * 1024;

export const CredentialName = z
  .string()
  .regex(/^[a-z0-9][a-z0-9-]{0,31}$/, 'a credential’s name is 1–32 characters of a-z, 0-9 and -');

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;
const Method = z.enum(METHODS);
export type Method = z.infer<typeof Method>;

/** All who are named in each of them; what is left out doesn't narrow. */
const SCOPE = {
  secret: SecretName,
  perAgent: z
    .boolean()
    .default(false)
    .describe('true: each agent’s own secret of that name, from agents/<alias>/.env and from nowhere else.'),
  tiers: z
    .array(TierName)
    .min(1)
    .optional()
    .describe('Tiers that get it, within their rights; default: those that may have all credentials.'),
  agents: z.array(AgentAlias).min(1).optional().describe('Agents that get it; default: all.'),
  groups: z.array(GroupFolder).min(1).optional().describe('Folders of the groups that get it; default: all.'),
};

const isLoopback = (host: string): boolean => /^(localhost|127(\.\d+){3}|\[::1\])$/.test(host);

const baseUrlProblem = (text: string): string | null => {
  const url = new URL(text);
  if (url.protocol !== 'https:' && !isLoopback(url.hostname)) return 'https:// alone; http:// for this machine’s own';
  if (url.username !== '' || url.password !== '') return 'no user and no password in it: name a secret';
  if (/[?#]/.test(text)) return 'only scheme, host, port and path';
  const path = parsePath(url.pathname);
  return path.ok ? null : path.problem;
};

const BaseUrl = z.url({ protocol: /^https?$/ }).superRefine((text, context) => {
  const problem = baseUrlProblem(text);
  if (problem !== null) context.addIssue({ code: 'custom', message: problem });
});

const Prefix = z.string().refine((text) => parsePath(text).ok && !text.includes('%'), {
  error: 'a path as it stands in requests, e.g. /repos/acme: it begins with / and has no //, .., %, ; or \\',
});

/** Headers that belong to the connection, to the request's frame or to the gateway itself. */
const UNSENDABLE =
  /^(host|connection|content-.*|transfer-encoding|te|trailer|upgrade|expect|keep-alive|proxy-.*|forwarded|x-forwarded-.*|accept-encoding|x-http-method.*|x-method-override|.*original-url|x-rewrite-url)$/i;
/** What a client may not say for itself. */
const IDENTITY = /^(authorization|cookie|.*(api-?key|token|auth|secret|session|sudo|user|password).*)$/i;

const HEADER = /^([A-Za-z][A-Za-z0-9-]{0,63}): ([\x20-\x7e]*)$/;

const headerProblem = (text: string): string | null => {
  const [, name, value] = HEADER.exec(text) ?? [];
  if (name === undefined || value === undefined) return 'a header as it is sent: "authorization: Bearer {secret}"';
  if (UNSENDABLE.test(name)) return `${name} is the gateway’s own to set`;
  return value.split('{secret}').length === 2 ? null : 'the word {secret} must stand in its value, once';
};

const Header = z.string().superRefine((text, context) => {
  const problem = headerProblem(text);
  if (problem !== null) context.addIssue({ code: 'custom', message: problem });
});

const PassedHeader = z
  .string()
  .regex(/^[a-z][a-z0-9-]{0,63}$/, 'a header’s name in lower case')
  .refine((name) => !UNSENDABLE.test(name) && !IDENTITY.test(name), {
    error: 'that header is the gateway’s own to set, or says who is asking',
  });

export const RouteCredential = z.strictObject({
  kind: z.literal('route').describe('Reached at /cred/<name>/… of the gateway; the secret stays on the host.'),
  baseUrl: BaseUrl.describe('Where the API is; the one host that the secret is sent to.'),
  ...SCOPE,
  header: Header.optional().describe('The header with {secret} in it; default: "authorization: Bearer {secret}".'),
  basic: z
    .string()
    .regex(/^[\x21-\x39\x3b-\x7e]{1,128}$/, 'a user name without spaces and colons')
    .optional()
    .describe('Instead of header: HTTP Basic with this user and the secret as password (git over HTTP).'),
  methods: z.array(Method).min(1).default(['GET', 'HEAD']).describe('Methods that are let through.'),
  pathPrefixes: z.array(Prefix).min(1).describe('Paths below baseUrl that are let through, with all beneath them.'),
  passHeaders: z.array(PassedHeader).max(32).default([]).describe('Further request headers that are passed on.'),
  bodyBytes: z
    .number()
    .int()
    .min(0)
    .max(4096 * MIB)
    .default(32 * MIB)
    .describe('Largest request body.'),
  answerBytes: z
    .number()
    .int()
    .min(1024)
    .max(65_536 * MIB)
    .default(512 * MIB)
    .describe('Largest answer.'),
  concurrent: z.number().int().min(1).max(64).default(8).describe('Requests at once, per group.'),
  requestsPerMinute: z.number().int().min(1).max(10_000).default(120).describe('Requests a minute, per group.'),
  idleSeconds: z.number().min(0.1).max(3600).default(120).describe('Longest silence of the API.'),
});
export type RouteCredential = z.infer<typeof RouteCredential>;

const Variable = z
  .string()
  .regex(/^[A-Z][A-Z0-9_]{0,63}$/, 'a variable’s name: A-Z, 0-9 and _')
  .refine((name) => !isReservedVariable(name), { error: 'that variable steers programs in the container' });

export const EnvironmentCredential = z.strictObject({
  kind: z
    .literal('environment')
    .describe('The secret itself, in the container’s environment: whoever runs there knows it.'),
  variable: Variable.describe('The variable’s name in the container.'),
  ...SCOPE,
});

export const Credential = z.discriminatedUnion('kind', [RouteCredential, EnvironmentCredential]);
export type Credential = z.infer<typeof Credential>;

export const Credentials = z.record(CredentialName, Credential).default({}).describe('Credentials by name.');
export type Credentials = z.infer<typeof Credentials>;

export const SecretCommand = z
  .strictObject({
    command: z
      .array(
        z
          .string()
          .min(1)
          .max(4096)
          .regex(/^[^\0]*$/, 'no NUL'),
      )
      .min(1)
      .max(64)
      .describe('Program and arguments, without a shell; its output is the secret.'),
    timeoutSeconds: z.number().min(0.1).max(300).default(10).describe('It is ended after that.'),
  })
  .describe('A secret that a command prints, e.g. {command: [pass, show, composio]}.');

export const SecretCommands = z
  .record(SecretName, SecretCommand)
  .default({})
  .describe('Secrets that come from commands instead of .env, by name.');
export type SecretCommands = z.infer<typeof SecretCommands>;
