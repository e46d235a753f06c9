/** Ordinary tools reach the internet through the proxy, unchanged, in a container of every tier; nothing gets out past it. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { GroupFolder } from '../../src/domain/ids.ts';
import { groupDirectory, type Home } from '../../src/home.ts';
import { type Internet, startInternet } from './egress-internet.ts';
import { type Installation, install } from './installation.ts';

const FOLDERS = ['main', 'friends', 'lobby'];
const AUTHORITY = '/workspace/group/authority.pem';

/** What each tool prints when it has got through. */
const TOOLS: readonly (readonly [string, string, string])[] = [
  ['curl over http', 'curl -sS http://web.example.net/', 'hello from the web'],
  ['curl over https', `curl -sS --cacert ${AUTHORITY} https://web.example.net/`, 'hello from the web'],
  [
    'git over https',
    `git -c http.sslCAInfo=${AUTHORITY} clone -q https://git.example.net/thing.git /tmp/thing && cat /tmp/thing/file.txt`,
    'from the repository',
  ],
  [
    'pip',
    `pip download -q --disable-pip-version-check --no-deps --cert ${AUTHORITY} -i https://pypi.example.net/simple -d /tmp/wheels tiny-thing && ls /tmp/wheels`,
    'tiny_thing-1.0-py3-none-any.whl',
  ],
  [
    'npm',
    `npm view tiny-thing version --registry https://npm.example.net/ --cafile ${AUTHORITY} --cache /tmp/npm`,
    '1.2.3',
  ],
  [
    'fetch of Node',
    `NODE_EXTRA_CA_CERTS=${AUTHORITY} node -e "fetch('https://web.example.net/').then((a) => a.text()).then(console.log)"`,
    'hello from the web',
  ],
  [
    'urllib of Python',
    `SSL_CERT_FILE=${AUTHORITY} python3 -c "from urllib.request import urlopen; print(urlopen('https://web.example.net/').read().decode())"`,
    'hello from the web',
  ],
  [
    'a loopback server of its own',
    'cd /tmp; (timeout 5 python3 -m http.server 9000 >/dev/null 2>&1 &) ; sleep 1; curl -sS -o /dev/null -w "%{http_code}" http://127.0.0.1:9000/',
    '200',
  ],
];

/** What each tries, and what it has to say. */
const REFUSED: readonly (readonly [string, string, RegExp])[] = [
  ['metadata over http', 'curl -sS http://169.254.169.254/latest/meta-data/', /is a link-local address/],
  ['metadata over CONNECT', 'curl -sS https://169.254.169.254/', /response 403/],
  ['loopback of the host, as a number', 'curl -sS --noproxy "" http://2130706433/', /is a loopback address/],
  [
    'a name that leads to loopback',
    'curl -sS http://loopback.example.net/',
    /tierclaw: the host has an address that is not public/,
  ],
  [
    'a name that leads to metadata',
    'curl -sS http://metadata.example.net/',
    /tierclaw: the host has an address that is not public/,
  ],
  [
    'a name that leads to both',
    'curl -sS http://mixed.example.net/',
    /tierclaw: the host has an address that is not public/,
  ],
  ['a redirect to metadata', 'curl -sSL http://web.example.net/away', /is a link-local address/],
  ['a redirect in circles', 'curl -sSL --max-redirs 5 http://web.example.net/around', /Maximum \(5\) redirects/],
  ['SSH', 'curl -sS --proxytunnel -x $HTTP_PROXY telnet://web.example.net:22', /response 403/],
  ['mail', 'curl -sS --proxytunnel -x $HTTP_PROXY telnet://web.example.net:25', /response 403/],
  [
    'a name that doesn’t exist',
    'curl -sS http://nowhere.example.net/',
    /tierclaw: the name of the host could not be resolved/,
  ],
];

/** Past the proxy: each must fail for want of a network. */
const SEALED: readonly (readonly [string, string])[] = [
  ['TCP', `python3 -c "import socket; socket.create_connection(('93.184.216.34', 443), 5)"`],
  ['TCP over IPv6', `python3 -c "import socket; socket.create_connection(('2606:2800:220:1::1', 443), 5)"`],
  ['UDP', `python3 -c "import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('9.9.9.9', 53))"`],
  ['DNS', 'getent hosts web.example.net'],
  ['curl without the proxy', `curl -sS --noproxy '*' http://93.184.216.34/`],
];

const quote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

/** Runs them in one turn; each has a part of its own in the reply. */
const scriptOf = (commands: readonly string[]): string =>
  commands
    .map((command, at) => `echo "<<${at}>>"; timeout 60 bash -c ${quote(command)} </dev/null 2>&1; echo "[status $?]"`)
    .join('\n');

describe.each(FOLDERS)('in %s', (folder) => {
  const made = {} as { installation: Installation; internet: Internet; directory: string };

  beforeAll(async () => {
    made.directory = await mkdtemp(join(tmpdir(), 'tierclaw-internet-'));
    made.internet = await startInternet(made.directory);
    const prepare = async (home: Home): Promise<void> =>
      writeFile(join(groupDirectory(home, GroupFolder.parse(folder)), 'authority.pem'), made.internet.authority);
    made.installation = await install({
      config: 'turns: { commandSeconds: 300 }\n',
      network: made.internet.network,
      prepare,
    });
  });
  afterAll(async () => {
    await made.installation?.close();
    made.internet?.close();
    await rm(made.directory, { recursive: true, force: true });
  });

  const runAll = async (commands: readonly string[]): Promise<readonly string[]> => {
    const file = join(groupDirectory(made.installation.home, GroupFolder.parse(folder)), 'check.sh');
    await writeFile(file, scriptOf(commands));
    const { reply } = await made.installation.say(folder, 'run: bash /workspace/group/check.sh');
    return reply.split(/<<\d+>>\n/).slice(1);
  };

  it('ordinary tools reach the internet', async () => {
    const parts = await runAll(TOOLS.map(([, command]) => command));
    const got = TOOLS.map(([name, , sign], at) => [name, parts[at]?.includes(sign) ? 'got through' : parts[at]]);
    expect(got).toEqual(TOOLS.map(([name]) => [name, 'got through']));
    const trail = await readFile(made.installation.home.auditFile, 'utf8');
    expect(trail).toMatch(/"kind":"egress".*"host":"git.example.net".*"verdict":"allowed".*"address":"93.184.216.34"/);
  });

  it('what isn’t public is refused with a reason, and nobody is dialled', async () => {
    const before = made.internet.dialled.length;
    const parts = await runAll(REFUSED.map(([, command]) => command));
    const got = REFUSED.map(([name, , sign], at) => [name, sign.test(parts[at] ?? '') ? 'refused' : parts[at]]);
    expect(got).toEqual(REFUSED.map(([name]) => [name, 'refused']));
    expect(new Set(made.internet.dialled.slice(before))).toEqual(new Set(['93.184.216.34:80']));
  });

  it('nothing gets out past the proxy', async () => {
    const parts = await runAll(SEALED.map(([, command]) => command));
    const failed = SEALED.filter((_, at) => /\[status [^0]\d*\]/.test(parts[at] ?? ''));
    expect(failed.map(([name]) => name)).toEqual(SEALED.map(([name]) => name));
  });
});
