/**
 * Which addresses are plainly public. What isn't global unicast is refused, in every spelling and every disguise; so is
 * what the home denies. Pure. The outcome is the address written anew, so that what is dialled is what was judged.
 */
import ipaddr from 'ipaddr.js';

type Parsed = ipaddr.IPv4 | ipaddr.IPv6;

/** Addresses from a prefix on; parsed once, compared often. */
export interface AddressRange {
  readonly from: Parsed;
  readonly bits: number;
  /** Said of an address in it: "1.2.3.4 is <what>". */
  readonly what: string;
}

export type AddressVerdict =
  | { readonly allow: true; readonly address: string }
  | {
      readonly allow: false;
      readonly reason: string;
      /** True where the reason tells something of this home or machine. */
      readonly isOurs: boolean;
    };

/** Names of the library's ranges as a sentence goes on; one that has no word here is "not a public address". */
const WORDS: Readonly<Record<string, string>> = {
  unspecified: 'the unspecified address or its network',
  broadcast: 'the broadcast address',
  multicast: 'a multicast address',
  linkLocal: 'a link-local address (cloud metadata lives there)',
  loopback: 'a loopback address',
  carrierGradeNat: 'an address of carrier-grade NAT',
  private: 'a private address',
  uniqueLocal: 'a private address',
  deprecatedSiteLocal: 'a private address',
  reserved: 'a reserved address',
  benchmarking: 'a reserved address',
  ipv4Mapped: 'an IPv4 address in the form of an IPv6 address',
  rfc6052: 'an address behind a private NAT64',
  '6to4': 'a tunnel to an IPv4 address',
  teredo: 'a tunnel to an IPv4 address',
};

/** The only part of IPv6 that is global unicast. */
const GLOBAL_IPV6 = ipaddr.IPv6.parseCIDR('2000::/3');
/** Its last 32 bits are the IPv4 address that is meant. */
const NAT64 = ipaddr.IPv6.parseCIDR('64:ff9b::/96');
/** Looks public and answers as the machine's own cloud: Azure's wire server. */
const CLOUD_HOSTS: readonly string[] = ['168.63.129.16'];

/** Nothing but the four decimal numbers or the plain IPv6 form: no octal, no hex, no short form, no zone. */
const parseAddress = (text: string): Parsed | null => {
  if (ipaddr.IPv4.isValidFourPartDecimal(text)) return ipaddr.IPv4.parse(text);
  return !text.includes('%') && text.includes(':') && ipaddr.IPv6.isValid(text) ? ipaddr.IPv6.parse(text) : null;
};

/** True for an address in one of the two strict forms. */
export const isAddress = (text: string): boolean => parseAddress(text) !== null;

export const isCidr = (text: string): boolean =>
  ipaddr.IPv4.isValidCIDRFourPartDecimal(text) || (text.includes(':') && ipaddr.IPv6.isValidCIDR(text));

/** Throws Error for what `isCidr` refuses. */
export const rangeOf = (cidr: string, what: string): AddressRange => {
  const [from, bits] = ipaddr.parseCIDR(cidr);
  return { from, bits, what };
};

const isIn = (address: Parsed, { from, bits }: AddressRange): boolean =>
  address.kind() === from.kind() && address.match(from, bits);

const isIPv6 = (address: Parsed): address is ipaddr.IPv6 => address.kind() === 'ipv6';

/** What an address is that isn't plainly public; undefined where it is. */
const specialty = (address: Parsed): string | undefined => {
  const range = address.range();
  if (range !== 'unicast') return WORDS[range] ?? 'not a public address';
  if (isIPv6(address)) return address.match(GLOBAL_IPV6) ? undefined : 'not a public address';
  return CLOUD_HOSTS.includes(address.toString()) ? 'a metadata service' : undefined;
};

const embedded = (address: Parsed): ipaddr.IPv4 | null =>
  isIPv6(address) && address.match(NAT64) ? new ipaddr.IPv4(address.toByteArray().slice(-4)) : null;

interface Objection {
  readonly reason: string;
  readonly isOurs: boolean;
}

/** What everybody knows comes first, so that it is what is said. */
const objection = (address: Parsed, denied: readonly AddressRange[]): Objection | undefined => {
  const inner = embedded(address);
  const reason = inner === null ? specialty(address) : undefined;
  if (reason !== undefined) return { reason, isOurs: false };
  const within = denied.find((range) => isIn(address, range));
  if (within !== undefined) return { reason: within.what, isOurs: true };
  return inner === null ? undefined : objection(inner, denied);
};

const written = (address: Parsed): string => (isIPv6(address) ? address.toRFC5952String() : address.toString());

/** Judges an address as a resolver or a client wrote it. `denied` comes on top of what is never public. */
export const judgeAddress = (text: string, denied: readonly AddressRange[]): AddressVerdict => {
  const address = parseAddress(text);
  if (address === null) return { allow: false, reason: 'what should be an address is none', isOurs: false };
  const against = objection(address, denied);
  const form = written(address);
  if (against === undefined) return { allow: true, address: form };
  return { allow: false, reason: `${form} is ${against.reason}`, isOurs: against.isOurs };
};
