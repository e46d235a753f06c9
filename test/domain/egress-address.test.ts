import { BlockList } from 'node:net';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isCidr, judgeAddress, rangeOf } from '../../src/domain/egress-address.ts';

const verdict = (address: string, denied: readonly string[] = []) =>
  judgeAddress(
    address,
    denied.map((cidr) => rangeOf(cidr, 'denied')),
  );

describe('an address that is plainly public is allowed, and written in its one form', () => {
  it.each([
    ['93.184.216.34', '93.184.216.34'],
    ['8.8.8.8', '8.8.8.8'],
    ['1.1.1.1', '1.1.1.1'],
    ['172.15.255.255', '172.15.255.255'],
    ['172.32.0.0', '172.32.0.0'],
    ['100.63.255.255', '100.63.255.255'],
    ['100.128.0.0', '100.128.0.0'],
    ['169.253.255.255', '169.253.255.255'],
    ['198.17.255.255', '198.17.255.255'],
    ['223.255.255.255', '223.255.255.255'],
    ['2606:2800:220:1::1', '2606:2800:220:1::1'],
    ['2606:2800:0220:0001:0000:0000:0000:0001', '2606:2800:220:1::1'],
    ['2001:4860:4860::8888', '2001:4860:4860::8888'],
    ['2A00:1450::1', '2a00:1450::1'],
    // NAT64 of a public address.
    ['64:ff9b::8.8.8.8', '64:ff9b::808:808'],
  ])('%s as %s', (address, form) => {
    expect(verdict(address)).toEqual({ allow: true, address: form });
  });
});

describe('what is not plainly public is refused', () => {
  it.each([
    // loopback and this network
    '127.0.0.1',
    '127.255.255.254',
    '0.0.0.0',
    '0.1.2.3',
    '::1',
    '::',
    // private
    '10.0.0.1',
    '172.16.0.1',
    '172.31.255.255',
    '192.168.0.1',
    'fc00::1',
    'fd12:3456:789a::1',
    'fec0::1',
    // link-local, metadata
    '169.254.0.1',
    '169.254.169.254',
    '169.254.170.2',
    'fe80::1',
    'febf::1',
    'fd00:ec2::254',
    '168.63.129.16',
    '100.100.100.200',
    // carrier-grade NAT
    '100.64.0.1',
    '100.127.255.255',
    // multicast, broadcast, reserved
    '224.0.0.1',
    '239.255.255.250',
    '255.255.255.255',
    '240.0.0.1',
    'ff02::1',
    'ff0e::1',
    // documentation, benchmarking, protocol assignments
    '192.0.0.8',
    '192.0.2.1',
    '198.51.100.1',
    '203.0.113.1',
    '198.18.0.1',
    '198.19.255.255',
    '192.88.99.1',
    '192.31.196.1',
    '192.52.193.1',
    '192.175.48.1',
    '2001:db8::1',
    '3fff::1',
    '2001:2::1',
    '2001:1::1',
    '100::1',
    '5f00::1',
    // tunnels and embedded IPv4
    '::ffff:8.8.8.8',
    '::ffff:127.0.0.1',
    '::ffff:7f00:1',
    '::ffff:0:127.0.0.1',
    '::127.0.0.1',
    '::8.8.8.8',
    '2002:7f00:1::1',
    '2002:808:808::1',
    '2001::1',
    '2001:0:53aa:64c:0:fbff:8057:1',
    '64:ff9b::127.0.0.1',
    '64:ff9b::a9fe:a9fe',
    '64:ff9b::10.0.0.1',
    '64:ff9b:1::8.8.8.8',
    // ORCHID and the unassigned rest
    '2001:10::1',
    '2001:20::1',
    '2001:30::1',
    '4000::1',
    '1::1',
    '200::1',
    'e000::1',
    // other spellings
    '0x7f.0.0.1',
    '0x7f000001',
    '2130706433',
    '0177.0.0.1',
    '127.1',
    '127.0.1',
    '08.8.8.8',
    '8.8.8.8.',
    '8.8.8.8 ',
    ' 8.8.8.8',
    '8.8.8.256',
    '8.8.8.8/32',
    '[2606:2800:220:1::1]',
    '2606:2800:220:1::1%eth0',
    'fe80::1%1',
    '１.1.1.1',
    '٨.8.8.8',
    '',
    'example.org',
    ':::',
    '::ffff:0x7f.1',
  ])('%j', (address) => {
    expect(verdict(address)).toMatchObject({ allow: false, reason: expect.stringMatching(/./) });
  });
});

describe('what the home denies', () => {
  it.each([
    ['93.184.216.34', ['93.184.0.0/16']],
    ['93.184.216.34', ['0.0.0.0/0']],
    ['2606:2800:220:1::1', ['2606:2800::/32']],
    ['64:ff9b::93.184.216.34', ['93.184.0.0/16']],
    ['64:ff9b::93.184.216.34', ['64:ff9b::/96']],
  ])('is refused: %s in %j', (address, denied) => {
    expect(verdict(address)).toMatchObject({ allow: true });
    expect(verdict(address, denied)).toMatchObject({ allow: false, reason: expect.stringContaining('is denied') });
  });

  it('opens nothing', () => {
    expect(verdict('127.0.0.1', ['1.0.0.0/8'])).toMatchObject({ allow: false });
  });

  it.each(['0x7f.0.0.0/8', '1.2.3.4', '1.2.3/24', '1.2.3.4/33', '::/129', 'fe80::%eth0', '', 'a/8'])(
    'is no range where it is %j',
    (text) => {
      expect(isCidr(text)).toBe(false);
    },
  );
});

/** Node's own list, written independently: nothing in it may ever be let through. */
const NEVER = new BlockList();
for (const [net, bits] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 3],
] as const) {
  NEVER.addSubnet(net, bits, 'ipv4');
}

const ipv4 = fc.tuple(fc.nat(255), fc.nat(255), fc.nat(255), fc.nat(255)).map((octets) => octets.join('.'));
const anyIPv4 = fc.oneof(
  ipv4,
  fc
    .tuple(
      fc.constantFrom('10', '127', '0', '169.254', '192.168', '100.64', '172.16', '224'),
      fc.nat(255),
      fc.nat(255),
      fc.nat(255),
    )
    .map(([head, ...rest]) => `${head}.${rest.slice(0, 4 - head.split('.').length).join('.')}`),
);

describe('for any address', () => {
  it('nothing of the never-public ranges of IPv4 gets through, plain, mapped or behind NAT64', () => {
    fc.assert(
      fc.property(anyIPv4, (address) => {
        const isNever = NEVER.check(address, 'ipv4');
        if (isNever) expect(verdict(address).allow).toBe(false);
        if (isNever) expect(verdict(`64:ff9b::${address}`).allow).toBe(false);
        expect(verdict(`::ffff:${address}`).allow).toBe(false);
        expect(verdict(`::${address}`).allow).toBe(false);
      }),
      { numRuns: 2000 },
    );
  });

  it('IPv6 is let through within 2000::/3 and NAT64 alone', () => {
    const group = fc.nat(0xffff).map((value) => value.toString(16));
    fc.assert(
      fc.property(fc.array(group, { minLength: 8, maxLength: 8 }), (groups) => {
        const address = groups.join(':');
        const first = Number.parseInt(groups[0] ?? '', 16);
        if (verdict(address).allow) expect(first >= 0x2000 && first <= 0x3fff).toBe(true);
      }),
      { numRuns: 2000 },
    );
  });

  it('what is judged again in the form it was given back is the same', () => {
    fc.assert(
      fc.property(fc.oneof(ipv4, fc.ipV6()), (address) => {
        const once = verdict(address);
        if (once.allow) expect(verdict(once.address)).toEqual(once);
      }),
    );
  });

  it('nothing but an address is taken for one', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        const once = verdict(text);
        if (once.allow) expect(text).toMatch(/^[0-9a-fA-F.:]+$/);
      }),
    );
  });
});
