/** Git over a credential route, as an agent uses it: clone, fetch and push, without git ever having the key. */
import { spawn } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { execa } from 'execa';
import { pino } from 'pino';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { AuditEvent } from '../../src/audit.ts';
import { parseConfig } from '../../src/config.ts';
import { planCredentials } from '../../src/domain/credential-plan.ts';
import { AgentAlias, GroupFolder } from '../../src/domain/ids.ts';
import { SOLE_TIER, tierRow } from '../../src/domain/tiers.ts';
import { createCredentialGateway } from '../../src/gateway/credentials.ts';
import { createSecrets } from '../../src/secrets.ts';
import { openSession, startGateway, startRelay, temporaryDirectory } from './setup.ts';

const TOKEN = 'glpat-0123456789abcdef';
const BASIC = `Basic ${Buffer.from(`git:${TOKEN}`).toString('base64')}`;

const GIT = { GIT_CONFIG_NOSYSTEM: '1', GIT_TERMINAL_PROMPT: '0', GIT_AUTHOR_NAME: 'A', GIT_AUTHOR_EMAIL: 'a@x.y' };
const OPTIONS = { env: { ...GIT, GIT_COMMITTER_NAME: 'A', GIT_COMMITTER_EMAIL: 'a@x.y', HOME: '/nonexistent' } };
const git = (cwd: string, ...args: string[]) => execa('git', args, { ...OPTIONS, cwd });

/** What a CGI program answered: its headers, then its body. */
const answerCgi = (output: Buffer, response: ServerResponse): void => {
  const at = output.indexOf('\r\n\r\n');
  for (const line of output.subarray(0, at).toString().split('\r\n')) {
    const [name = '', value = ''] = line.split(': ');
    if (name === 'Status') response.statusCode = Number.parseInt(value, 10);
    else response.setHeader(name, value);
  }
  response.end(output.subarray(at + 4));
};

/** `git http-backend` behind a server that takes nobody without the key. */
const serveGit = async (root: string) => {
  const seen: { authorization: string | undefined; url: string | undefined }[] = [];
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { authorization } = request.headers;
    seen.push({ authorization, url: request.url });
    if (authorization !== BASIC) {
      response.writeHead(401, { 'www-authenticate': 'Basic realm="git"' }).end();
      return;
    }
    const body: Buffer[] = [];
    for await (const chunk of request) body.push(chunk as Buffer);
    const bytes = Buffer.concat(body);
    const [path = '', query = ''] = (request.url ?? '').split('?');
    const cgi = spawn('git', ['http-backend'], {
      env: {
        ...process.env,
        GIT_PROJECT_ROOT: root,
        GIT_HTTP_EXPORT_ALL: '1',
        REMOTE_USER: 'git',
        PATH_INFO: path,
        QUERY_STRING: query,
        REQUEST_METHOD: request.method ?? '',
        CONTENT_TYPE: request.headers['content-type'] ?? '',
        CONTENT_LENGTH: String(bytes.length),
        HTTP_CONTENT_ENCODING: request.headers['content-encoding'] ?? '',
        HTTP_GIT_PROTOCOL: String(request.headers['git-protocol'] ?? ''),
      },
    });
    const output: Buffer[] = [];
    cgi.stdout.on('data', (chunk: Buffer) => output.push(chunk));
    cgi.once('close', () => answerCgi(Buffer.concat(output), response));
    cgi.stdin.end(bytes);
  };
  const server = createServer((request, response) => void serve(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return { seen, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
};

const makeRepository = async (): Promise<string> => {
  const root = await temporaryDirectory();
  await mkdir(join(root, 'acme'));
  await git(root, 'init', '-q', '--bare', '-b', 'main', 'acme/site.git');
  await git(root, '-C', 'acme/site.git', 'config', 'http.receivepack', 'true');
  await git(root, 'init', '-q', '--bare', '-b', 'main', 'acme/other.git');
  const work = await temporaryDirectory();
  await git(work, 'init', '-q', '-b', 'main');
  // Enough that the negotiation is compressed and the pack comes in many pieces.
  for (let at = 0; at < 40; at += 1) {
    await writeFile(join(work, `f${at}`), `${at}\n`.repeat(2000));
    await git(work, 'add', '.');
    await git(work, 'commit', '-q', '-m', `c${at}`);
  }
  await git(work, 'push', '-q', join(root, 'acme/site.git'), 'main');
  return root;
};

const openGit = async (methods: string) => {
  const upstream = await serveGit(await makeRepository());
  const yaml = [
    'credentials:',
    `  git: { kind: route, baseUrl: "${upstream.url}", secret: TOKEN, basic: git, methods: ${methods},`,
    '         pathPrefixes: [/acme/site.git] }',
  ].join('\n');
  const { routes } = planCredentials(parseConfig(yaml, 'tierclaw.yaml').credentials, {
    row: tierRow(SOLE_TIER),
    agent: AgentAlias.parse('default'),
    folder: GroupFolder.parse('lobby'),
  });
  const events: AuditEvent[] = [];
  const credentials = createCredentialGateway({
    secrets: createSecrets(new Map([['TOKEN', TOKEN]]), '.env'),
    audit: { record: (event) => void events.push(event) },
    logger: pino({ level: 'silent' }),
  });
  onTestFinished(() => credentials.close());
  const { gateway } = startGateway({ options: { credentials: credentials.open } });
  const session = await openSession(gateway, { provider: 'rehearsal', models: ['rehearsal-1'], credentials: routes });
  return {
    upstream,
    events,
    url: `${await startRelay(session.socketPath)}/cred/git`,
    work: await temporaryDirectory(),
  };
};

describe('git over a credential route', () => {
  it('clones, fetches and pushes', async () => {
    const { url, work, upstream, events } = await openGit('[GET, POST]');
    await git(work, 'clone', '-q', `${url}/acme/site.git`, 'site');
    expect(await readFile(join(work, 'site/f39'), 'utf8')).toBe('39\n'.repeat(2000));
    const site = join(work, 'site');
    await writeFile(join(site, 'new'), 'x'.repeat(3_000_000));
    await git(site, 'add', '.');
    await git(site, 'commit', '-q', '-m', 'new');
    await git(site, 'push', '-q', 'origin', 'main');
    await git(work, 'clone', '-q', `${url}/acme/site.git`, 'again');
    expect((await readFile(join(work, 'again/new'))).length).toBe(3_000_000);
    expect(new Set(upstream.seen.map(({ authorization }) => authorization))).toEqual(new Set([BASIC]));
    expect(events.filter(({ kind }) => kind === 'credential-used').length).toBeGreaterThan(4);
    const { stdout } = await execa('grep', ['-r', TOKEN, work], { reject: false });
    expect(stdout).toBe('');
  });

  it('may not push where POST isn’t listed, nor see a repository that isn’t', async () => {
    const { url, work, upstream } = await openGit('[GET]');
    await expect(git(work, 'clone', '-q', `${url}/acme/other.git`, 'other')).rejects.toThrow('403');
    expect(upstream.seen).toEqual([]);
    await expect(git(work, 'clone', '-q', `${url}/acme/site.git`, 'site')).rejects.toThrow('405');
    expect(upstream.seen.map((request) => request.url)).toEqual(['/acme/site.git/info/refs?service=git-upload-pack']);
  });
});
