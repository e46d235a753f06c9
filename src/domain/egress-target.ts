/**
 * Whom a client wants to reach, read strictly from what it wrote: a name of letters, digits and hyphens, or an address
 * in its one plain form. What two readers could understand differently is refused, never normalised. Pure.
 */
import { type Egress, matchesHost } from './egress.ts';
import { isAddress } from './egress-address.ts';

export interface Target {
  /** A name in lower case, or an address without brackets. */
  readonly host: string;
  readonly port: number;
  readonly isAddress: boolean;
}

export interface TargetRefusal {
  readonly allow: false;
  /** 400: not to be understood; 403: understood and not allowed. */
  readonly status: 400 | 403;
  readonly reason: string;
}

export type TargetVerdict = { readonly allow: true; readonly target: Target } | TargetRefusal;

export interface HttpTarget {
  readonly allow: true;
  readonly target: Target;
  /** As it stood in the URL, but for an empty one, which is `/`. */
  readonly path: string;
}

const NAME_MAX = 253;
const LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
/** Some resolver would read a name that ends so as an IPv4 address: 2130706433, 0x7f.1, 127.1. */
const NUMERIC = /^(?:[0-9]+|0x[0-9a-f]*)$/;
/** Never names on the internet, whatever a resolver says of them. */
const LOCAL = /(?:^|\.)(?:localhost|local|internal|lan|home|corp|intranet|localdomain|onion|home\.arpa)$/;

const malformed = (reason: string): TargetRefusal => ({ allow: false, status: 400, reason });
const forbidden = (reason: string): TargetRefusal => ({ allow: false, status: 403, reason });

const readName = (written: string): { readonly host: string } | TargetRefusal => {
  const host = written.toLowerCase();
  const labels = host.split('.');
  if (host.length > NAME_MAX || !labels.every((label) => LABEL.test(label))) {
    return malformed('the host is no name of letters, digits, hyphens and dots, nor a plain address');
  }
  if (NUMERIC.test(labels.at(-1) ?? '')) return malformed('the host is a number, but not an address in its plain form');
  if (labels.length === 1 || LOCAL.test(host)) return forbidden('the host is a local name');
  return { host };
};

const readHost = (written: string): { readonly host: string; readonly isAddress: boolean } | TargetRefusal => {
  const inner = /^\[([0-9A-Fa-f:.]{2,45})\]$/.exec(written)?.[1];
  if (inner !== undefined) {
    return isAddress(inner) && inner.includes(':')
      ? { host: inner.toLowerCase(), isAddress: true }
      : malformed('what stands in brackets is no IPv6 address');
  }
  if (isAddress(written) && !written.includes(':')) return { host: written, isAddress: true };
  const name = readName(written);
  return 'host' in name ? { host: name.host, isAddress: false } : name;
};

const readPort = (written: string): number | null => {
  const port = /^[1-9][0-9]{0,4}$/.test(written) ? Number(written) : 0;
  return port > 0 && port < 65_536 ? port : null;
};

const AUTHORITY = /^(\[[^\]]*\]|[^:[\]]*)(?::([^:]*))?$/;

/** `host:port`; the port may be left out where there is a default one. */
export const readAuthority = (written: string, defaultPort: number | null): TargetVerdict => {
  const [, host = '', portText] = AUTHORITY.exec(written) ?? [];
  if (host === '') return malformed('the target is not host:port');
  const port = portText === undefined ? defaultPort : readPort(portText);
  if (port === null) return malformed('the target has no port between 1 and 65535');
  const read = readHost(host);
  return 'allow' in read ? read : { allow: true, target: { ...read, port } };
};

const PRINTABLE = /^[!-~]+$/;
/** Authority, then a path or a query: no user, no fragment, no backslash. */
const HTTP_URL = /^http:\/\/([^/?#@\\]+)((?:[/?][^#\\]*)?)$/i;

/** The target of a request in absolute form. */
export const readHttpUrl = (url: string): HttpTarget | TargetRefusal => {
  if (/^https:/i.test(url)) return malformed('https goes through CONNECT; use the proxy as an HTTP proxy for it');
  const [, authority, rest = ''] = (PRINTABLE.test(url) && HTTP_URL.exec(url)) || [];
  if (authority === undefined) return malformed('the request target is no plain http:// URL');
  const read = readAuthority(authority, 80);
  if (!read.allow) return read;
  return { allow: true, target: read.target, path: rest.startsWith('/') ? rest : `/${rest}` };
};

/** True where a Host header names the same host and port. */
export const isSameAuthority = (header: string, { host, port }: Target): boolean => {
  const read = readAuthority(header, 80);
  return read.allow && read.target.host === host && read.target.port === port;
};

/** The policy's word on a target, before any name is resolved; undefined: none against it. */
export const policyAgainst = (egress: Egress, { host, port }: Target): TargetRefusal | undefined => {
  if (egress.policy === 'none') return forbidden('this chat may not reach the internet');
  if (!egress.ports.includes(port)) {
    return forbidden(`port ${port} is not among those that may be reached: ${egress.ports.join(', ')}`);
  }
  if (egress.policy === 'allowlist' && !matchesHost(host, egress.allow)) {
    return forbidden('this host is not on the list of those that this chat may reach');
  }
  return undefined;
};
