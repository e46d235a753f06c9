/** The tool web_fetch in real containers: what it reads, what the proxy keeps from it, and who doesn’t have it. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Internet, startInternet } from './egress-internet.ts';
import { type Installation, install } from './installation.ts';

let scratch: string;
let internet: Internet;
let installation: Installation;

beforeAll(async () => {
  scratch = await mkdtemp(join(tmpdir(), 'tierclaw-web-'));
  internet = await startInternet(scratch);
  const config = [
    'egress: { groups: { "local:friends": { policy: none } } }',
    'caps: { untrusted: { requestsPerMinute: 1000 } }',
    '',
  ].join('\n');
  installation = await install({ network: internet.network, config });
}, 240_000);
afterAll(async () => {
  await installation?.close();
  internet?.close();
  await rm(scratch, { recursive: true, force: true });
});

describe.each(['main', 'lobby'])('web_fetch in the group %s', (folder) => {
  it('reads a page, and says that it is others’ words', async () => {
    const { reply } = await installation.say(folder, 'fetch: http://web.example.net/page#part');
    expect(reply).toMatch(/^\[from the web: text by others/);
    expect(reply).toContain('address: http://web.example.net/page\nstatus: 200');
    expect(reply).toContain('hello from the web');
  });

  it.each([
    ['http://169.254.169.254/latest/', 'is a link-local address (cloud metadata lives there) (403 from the proxy)'],
    ['http://127.0.0.1/', 'is a loopback address'],
    ['https://metadata.example.net/', 'the host has an address that is not public (403 from the proxy)'],
    ['http://loopback.example.net/', 'the host has an address that is not public (403 from the proxy)'],
    ['http://web.example.net/away', 'is a link-local address (cloud metadata lives there) (403 from the proxy)'],
    ['http://web.example.net/around', 'it redirects in a circle: '],
    ['http://web.example.net:22/', 'from the proxy)'],
    ['https://web.example.net/', 'certificate'],
    ['file:///etc/passwd', 'is neither http nor https'],
    ['http://127.0.0.1:8118/model/rehearsal/v1/messages', 'port 8118 is not among those that may be reached'],
  ])('%s is refused, and why is said', async (url, why) => {
    const { reply } = await installation.say(folder, `fetch: ${url}`);
    expect(reply).toContain('Not fetched: ');
    expect(reply).toContain(why);
  });
});

it('web_fetch is not offered where there is no way out', async () => {
  const { reply } = await installation.say('friends', 'fetch: http://web.example.net/');
  expect(reply).toBe('no such tool here: web_fetch');
});
