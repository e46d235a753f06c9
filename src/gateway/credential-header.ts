/** A credential's header, made when a request goes out and kept nowhere. */
import type { PlannedRoute } from '../domain/credential-plan.ts';
import { CREDENTIAL_CHARS_MIN } from '../domain/credential-variable.ts';
import type { Secrets } from '../secrets.ts';

export type CredentialHeader =
  | { readonly ok: true; readonly headers: Readonly<Record<string, string>> }
  /** For the operator: names the secret, never has its value. */
  | { readonly ok: false; readonly problem: string };

/** Header fields have no line breaks and nothing beyond ASCII; a space in a token is a slip of the copying hand. */
const SENDABLE = /^[\x21-\x7e]{1,8192}$/;
/** Within base64 anything can stand; a line break at the end is that slip, too. */
const ENCODABLE = /^[^\p{Cc}]{1,6000}$/u;

const headersOf = ({ auth }: PlannedRoute, value: string): Readonly<Record<string, string>> | null => {
  if (auth.kind === 'basic') {
    if (!ENCODABLE.test(value)) return null;
    return { authorization: `Basic ${Buffer.from(`${auth.user}:${value}`).toString('base64')}` };
  }
  if (!SENDABLE.test(value)) return null;
  const at = auth.header.indexOf(': ');
  // A function, because `$&` in a value would mean something to `replace`.
  return { [auth.header.slice(0, at).toLowerCase()]: auth.header.slice(at + 2).replace('{secret}', () => value) };
};

export const credentialHeader = (route: PlannedRoute, secrets: Secrets): CredentialHeader => {
  const { name, agent } = route.secret;
  const whose = agent === null ? name : `${name} of the agent ${agent}`;
  const value = secrets.get(name, agent);
  if (value === undefined || value === '') return { ok: false, problem: `there is no secret ${whose}` };
  if (value.length < CREDENTIAL_CHARS_MIN) {
    return { ok: false, problem: `the secret ${whose} is shorter than ${CREDENTIAL_CHARS_MIN} characters` };
  }
  const headers = headersOf(route, value);
  if (headers !== null) return { ok: true, headers };
  return { ok: false, problem: `the secret ${whose} can’t be sent: it has spaces, line breaks or is too long` };
};
