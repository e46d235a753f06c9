import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isSameAuthority, policyAgainst, readAuthority, readHttpUrl } from '../../src/domain/egress-target.ts';
import { tierRow } from '../../src/domain/tiers.ts';

describe('a target', () => {
  it.each([
    ['example.org:443', 'example.org', 443, false],
    ['EXAMPLE.Org:443', 'example.org', 443, false],
    ['xn--bcher-kva.example:80', 'xn--bcher-kva.example', 80, false],
    ['a.b.c.d.e.example:1', 'a.b.c.d.e.example', 1, false],
    ['1.example:65535', '1.example', 65_535, false],
    ['0x7f.example:80', '0x7f.example', 80, false],
    ['93.184.216.34:80', '93.184.216.34', 80, true],
    ['[2606:2800:220:1::1]:443', '2606:2800:220:1::1', 443, true],
    ['[::1]:443', '::1', 443, true],
    ['127.0.0.1:443', '127.0.0.1', 443, true],
  ])('%s is understood', (written, host, port, isAddress) => {
    expect(readAuthority(written, null)).toEqual({ allow: true, target: { host, port, isAddress } });
  });

  it.each([
    // no host, no port
    '',
    ':443',
    'example.org',
    'example.org:',
    'example.org:0',
    'example.org:00443',
    'example.org:+443',
    'example.org: 443',
    'example.org:443 ',
    'example.org:65536',
    'example.org:99999999999999999999',
    'example.org:0x1bb',
    'example.org:443:443',
    'example.org:44３',
    // spellings of addresses
    '2130706433:80',
    '0x7f000001:80',
    '0x7f.1:80',
    '0177.0.0.1:80',
    '127.1:80',
    '127.0.1:80',
    '127.0.0.01:80',
    '127.0.0.1.:80',
    '1.2.3.4.5:80',
    '999.1.1.1:80',
    '0x7f.0x0.0x0.0x1:80',
    'example.0x1:80',
    'example.1:80',
    '[::ffff:7f00:1]:80.',
    '[fe80::1%eth0]:80',
    '[fe80::1%25eth0]:80',
    '[127.0.0.1]:80',
    '[::1:80',
    '::1:80',
    '::1]:80',
    '[]:80',
    '[::1]',
    '[v1.a]:80',
    '[::1]x:80',
    // names
    'example.org.:80',
    '.example.org:80',
    'example..org:80',
    '-example.org:80',
    'example-.org:80',
    'exa_mple.org:80',
    'exa mple.org:80',
    'example.org\t:80',
    'user@example.org:80',
    'example.org/:80',
    'example.org#:80',
    'example.org%2e:80',
    '%31%32%37.0.0.1:80',
    'exämple.org:80',
    '①②⑦.⓪.⓪.①:80',
    '127。0。0。1:80',
    'ｅxample.org:80',
    'example.org\u200b:80',
    `${'a'.repeat(64)}.org:80`,
    `${'a.'.repeat(127)}org:80`,
  ])('%j is refused as not to be understood', (written) => {
    expect(readAuthority(written, null)).toMatchObject({ allow: false, status: 400 });
  });

  it.each([
    'localhost:80',
    'metadata:80',
    'metadata.google.internal:80',
    'printer.local:80',
    'a.localhost:80',
    'nas.lan:80',
    'router.home.arpa:80',
  ])('%s is refused as a local name', (written) => {
    expect(readAuthority(written, null)).toMatchObject({ allow: false, status: 403 });
  });

  it('in any text is a name of letters, digits, hyphens and dots, or an address', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.webAuthority(),
          fc.tuple(fc.string(), fc.nat(70_000)).map((parts) => parts.join(':')),
        ),
        (text) => {
          const read = readAuthority(text, 80);
          if (read.allow) expect(read.target.host).toMatch(/^[a-z0-9.:-]+$/);
          if (read.allow && !read.target.isAddress) expect(read.target.host).toMatch(/\.[a-z0-9-]*[a-z-][a-z0-9-]*$/);
        },
      ),
      { numRuns: 2000 },
    );
  });
});

describe('a request in absolute form', () => {
  it.each([
    ['http://example.org/', 'example.org', 80, '/'],
    ['http://example.org', 'example.org', 80, '/'],
    ['HTTP://Example.org/A%20b?c=d&e', 'example.org', 80, '/A%20b?c=d&e'],
    ['http://example.org?q', 'example.org', 80, '/?q'],
    ['http://example.org:8080/a//b/../c', 'example.org', 8080, '/a//b/../c'],
    ['http://example.org/@/:', 'example.org', 80, '/@/:'],
    ['http://[2606:2800:220:1::1]/', '2606:2800:220:1::1', 80, '/'],
  ])('%s is understood', (url, host, port, path) => {
    expect(readHttpUrl(url)).toMatchObject({ allow: true, target: { host, port }, path });
  });

  it.each([
    'https://example.org/',
    'ftp://example.org/',
    'ws://example.org/',
    'file:///etc/passwd',
    'http:example.org',
    'http:/example.org',
    'http:///example.org',
    'http://',
    'http://user@example.org/',
    'http://user:pass@example.org/',
    'http://example.org@10.0.0.1/',
    'http://example.org#@10.0.0.1/',
    'http://example.org\\@10.0.0.1/',
    'http://example.org/\\..',
    'http://example.org/#f',
    'http://example.org/ a',
    'http://example.org/\r\nx: y',
    'http://example.org/\u00e4',
    'http://exam\tple.org/',
    'http://example.org:/',
    'http://example.org:0/',
    'http://2130706433/',
    '\thttp://example.org/',
  ])('%j is refused', (url) => {
    expect(readHttpUrl(url)).toMatchObject({ allow: false, status: 400 });
  });

  it.each([
    ['example.org', true],
    ['EXAMPLE.org:80', true],
    ['example.org:8080', false],
    ['example.com', false],
    ['example.org.', false],
    ['example.org, example.org', false],
    ['', false],
  ])('has a Host of %j: %s', (header, isSame) => {
    expect(isSameAuthority(header, { host: 'example.org', port: 80, isAddress: false })).toBe(isSame);
  });
});

describe('a policy', () => {
  const { egress } = tierRow('untrusted');
  const to = (host: string, port = 443) => ({ host, port, isAddress: false });

  it.each([0, 22, 25, 53, 465, 587, 2375, 3306, 5432, 6379, 8080])('leads to no port %i', (port) => {
    expect(policyAgainst(egress, to('example.org', port))).toMatchObject({ status: 403 });
  });

  it.each([80, 443])('leads to port %i', (port) => {
    expect(policyAgainst(egress, to('example.org', port))).toBeUndefined();
  });

  it('of none leads nowhere', () => {
    expect(policyAgainst({ ...egress, policy: 'none', allow: ['example.org'] }, to('example.org'))).toMatchObject({
      status: 403,
      reason: 'this chat may not reach the internet',
    });
  });

  it.each([
    ['example.org', true],
    ['www.example.org', false],
    ['a.example.net', true],
    ['a.b.example.net', true],
    ['example.net', false],
    ['badexample.net', false],
    ['example.org.evil.example', false],
    ['93.184.216.34', false],
  ])('of allowlist, asked for %s: %s', (host, isAllowed) => {
    const listed = { ...egress, policy: 'allowlist', allow: ['example.org', '*.example.net'] } as const;
    expect(policyAgainst(listed, to(host)) === undefined).toBe(isAllowed);
  });
});
