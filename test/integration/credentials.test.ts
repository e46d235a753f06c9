/**
 * Credentials on the real engine: who gets which, what a container sees of it, what leaves the process of it, and what
 * a change of a file does without a restart.
 */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { register } from '../../src/commands/groups.ts';
import { plan } from '../../src/commands/plan.ts';
import { checkSecrets, listSecrets } from '../../src/commands/secrets.ts';
import { LABELS } from '../../src/domain/plan.ts';
import { contextOf, type Installation, install } from './installation.ts';

const HOME_KEY = 'home-key-0123456789';
const ALICE_KEY = 'alice-key-0123456789';
const BOB_KEY = 'bob-key-0123456789';
const API_TOKEN = 'api-token-0123456789';
const COMMAND_KEY = 'command-key-0123456789';
const EVERY = [HOME_KEY, ALICE_KEY, BOB_KEY, API_TOKEN, COMMAND_KEY];

const FOLDERS = ['main', 'friends', 'lobby'] as const;

describe('credentials', () => {
  let installation: Installation;
  const api = { seen: [] as { url: string; authorization: string | undefined }[] };
  const server = createServer((request, response) => {
    const { authorization } = request.headers;
    api.seen.push({ url: request.url ?? '', authorization });
    response.end(`you sent ${authorization}`);
  });

  beforeAll(async () => {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    installation = await install({
      config: [
        'agents: { alice: {}, bob: {} }',
        `secrets: { COMMAND_KEY: { command: [echo, ${COMMAND_KEY}] } }`,
        'credentials:',
        '  composio: { kind: environment, variable: COMPOSIO_API_KEY, secret: HOME_KEY, tiers: [main, trusted] }',
        '  own: { kind: environment, variable: GITHUB_TOKEN, secret: GITHUB_TOKEN, perAgent: true, tiers: [trusted] }',
        '  printed: { kind: environment, variable: PRINTED_KEY, secret: COMMAND_KEY }',
        `  api: { kind: route, baseUrl: "http://127.0.0.1:${port}/v1", secret: API_TOKEN, tiers: [main, trusted],`,
        '         pathPrefixes: [/items] }',
      ].join('\n'),
      env: `HOME_KEY=${HOME_KEY}\nAPI_TOKEN=${API_TOKEN}\n`,
      prepare: async (home) => {
        for (const [alias, key] of [
          ['alice', ALICE_KEY],
          ['bob', BOB_KEY],
        ] as const) {
          await mkdir(join(home.agents, alias), { recursive: true });
          await writeFile(join(home.agents, alias, '.env'), `GITHUB_TOKEN=${key}\n`, { mode: 0o600 });
          await register(contextOf(home), { id: `local:${alias}`, folder: alias, tier: 'trusted', agent: alias });
        }
      },
    });
  });
  afterAll(async () => {
    await installation?.close();
    server.close();
  });

  const run = async (folder: string, command: string): Promise<string> =>
    (await installation.say(folder, `run: ${command}`)).reply;
  /** Whether the variable has that value: told without printing it. */
  const isSet = (variable: string, value: string): string =>
    `test "$(printf %s "$${variable}" | sha256sum)" = "$(printf %s '${[...value].reverse().join('')}' | rev | sha256sum)" && echo same || echo other-$\{${variable}:+set}`;

  it.each([
    ['main', 'COMPOSIO_API_KEY', HOME_KEY, 'same'],
    ['friends', 'COMPOSIO_API_KEY', HOME_KEY, 'same'],
    ['lobby', 'COMPOSIO_API_KEY', HOME_KEY, 'other-'],
    ['main', 'PRINTED_KEY', COMMAND_KEY, 'same'],
    ['friends', 'PRINTED_KEY', COMMAND_KEY, 'other-'],
    ['alice', 'GITHUB_TOKEN', ALICE_KEY, 'same'],
    ['bob', 'GITHUB_TOKEN', BOB_KEY, 'same'],
    ['bob', 'GITHUB_TOKEN', ALICE_KEY, 'other-set'],
    ['friends', 'GITHUB_TOKEN', ALICE_KEY, 'other-'],
    ['main', 'GITHUB_TOKEN', ALICE_KEY, 'other-'],
  ])('as environment: in %s %s is as declared', async (folder, variable, value, expected) => {
    const words = await run(folder, isSet(variable, value));
    expect(words.match(/^(same|other-(set)?)$/m)?.[0]).toBe(expected);
  });

  it.each(FOLDERS)('are nowhere else in a container of %s: no file, no mount, no other process', async (folder) => {
    const needles = EVERY.map((key) => [...key].reverse().join('')).join('\n');
    const reply = await run(
      folder,
      `env | cut -d= -f1 | sort | tr '\\n' ' '; echo; printf '%s' '${needles}' | rev > /tmp/needles; ` +
        'grep -rlsFf /tmp/needles /workspace /run/tierclaw /opt /etc /proc/[0-9]*/cmdline 2>/dev/null | head; echo searched',
    );
    expect(reply).toContain('searched');
    expect(reply).not.toMatch(/\/(workspace|run|opt|etc|proc)\//);
    if (folder === 'lobby') expect(reply).not.toMatch(/COMPOSIO|GITHUB|PRINTED/);
  });

  it('of agents lie where no container looks', async () => {
    const reply = await run(
      'alice',
      'ls -la /workspace/agent /workspace/agent/.. /workspace/agent/../.env 2>&1; cat /workspace/agent/../.env',
    );
    expect(reply).not.toContain('alice-key');
    expect(reply).toContain('No such file');
    const { data } = await plan(contextOf(installation.home), { group: 'alice' });
    const { mounts } = data as { mounts: { source: string }[] };
    const own = join(installation.home.agents, 'alice');
    expect(mounts.filter(({ source }) => own === source || own.startsWith(`${source}/`))).toEqual([]);
  });

  it('that an agent prints reach neither the chat nor whoever looks on, in any form', async () => {
    const { reply, messages, events } = await installation.say(
      'friends',
      'run: env | grep COMPOSIO; printf %s "x:$COMPOSIO_API_KEY" | base64; printf "%s\\n" "$COMPOSIO_API_KEY" | sed "s/./&/g"',
    );
    expect(reply).toContain('COMPOSIO_API_KEY=[redacted]');
    expect(JSON.stringify([reply, messages, events])).not.toContain(HOME_KEY);
    expect(JSON.stringify([reply, messages, events])).not.toContain(
      Buffer.from(`x:${HOME_KEY}`).toString('base64').slice(4, -4),
    );
  });

  it('that an agent sends as a message of its own are redacted, too', async () => {
    const { messages } = await installation.say(
      'friends',
      'run: cd /workspace/ipc/messages && printf \'{"type":"message","id":"k1","text":"key %s"}\' "$COMPOSIO_API_KEY" > .t && mv .t k1.json; ' +
        'for i in $(seq 50); do [ -s ../input/k1.json ] && break; sleep 0.1; done; echo done',
    );
    expect(messages).toContain('key [redacted]');
  });

  it.each(['main', 'friends'])('as a route work in %s, the key staying on the host', async (folder) => {
    api.seen.length = 0;
    const reply = await run(
      folder,
      'curl -sS -H "authorization: Bearer mine" http://127.0.0.1:8118/cred/api/items/1?x=2',
    );
    expect(api.seen).toEqual([{ url: '/v1/items/1?x=2', authorization: `Bearer ${API_TOKEN}` }]);
    expect(reply).toContain('you sent Bearer [redacted]');
  });

  it('as a route are refused beyond their paths, and all of it in an untrusted chat', async () => {
    api.seen.length = 0;
    const get = (path: string) => `curl -sS --path-as-is http://127.0.0.1:8118/cred/${path}`;
    expect(await run('friends', `${get('api/items/../users')}; ${get('api/itemsx')}; ${get('nothing')}`)).toContain(
      'paths of /cred/api',
    );
    expect(await run('lobby', get('api/items/1'))).toContain('no such credential; it has: none');
    expect(api.seen).toEqual([]);
  });

  it('stand with their names alone in plans, records, logs and databases', async () => {
    const { home } = installation;
    const planned = await plan(contextOf(home), { group: 'friends' });
    expect(planned.text).toContain('/cred/api');
    expect(planned.text).toContain('COMPOSIO_API_KEY');
    const listed = await listSecrets(contextOf(home));
    const checked = await checkSecrets(contextOf(home));
    expect(checked.text).toMatch(/^✗ credentials\.own: the secret GITHUB_TOKEN of the agent default: it is not there/);
    const audit = await readFile(home.auditFile, 'utf8');
    expect(audit).toContain('"kind":"credential-given"');
    expect(audit).toContain('"kind":"credential-used"');
    const all = JSON.stringify([planned, listed, checked]) + audit;
    for (const key of EVERY) expect(all).not.toContain(key);
    const { stdout } = await execa('grep', ['-rlaF', ...EVERY.flatMap((key) => ['-e', key]), home.data], {
      reject: false,
    });
    expect(stdout).toBe('');
  });

  it('are seen by docker inspect only where they are declared as environment', async () => {
    const inspected: string[] = [];
    for (const folder of FOLDERS) {
      const talking = installation.say(folder, 'run: sleep 3');
      const find = async () => {
        const all = await installation.containers();
        return all.find(({ State, Labels }) => State === 'running' && Labels[LABELS.group] === folder)?.Id;
      };
      await expect.poll(find, { timeout: 20_000 }).toBeDefined();
      inspected.push(JSON.stringify(await installation.docker.getContainer((await find()) ?? '').inspect()));
      await talking;
    }
    const [main = '', friends = '', lobby = ''] = inspected;
    expect(EVERY.filter((key) => main.includes(key))).toEqual([HOME_KEY, COMMAND_KEY]);
    expect(EVERY.filter((key) => friends.includes(key))).toEqual([HOME_KEY]);
    expect(EVERY.filter((key) => lobby.includes(key))).toEqual([]);
  });

  it('change without a restart, the old ones still redacted; a broken file changes nothing', async () => {
    const { home } = installation;
    const audited = (): Promise<string> => readFile(home.auditFile, 'utf8');
    const reloads = async (): Promise<number> => (await audited()).split('secrets-reloaded').length;
    const before = await reloads();
    await writeFile(home.envFile, `HOME_KEY=second-key-0123456789\nAPI_TOKEN=second-token-0123456789\n`);
    await expect.poll(reloads, { timeout: 10_000 }).toBeGreaterThan(before);
    expect(
      await run(
        'friends',
        `${isSet('COMPOSIO_API_KEY', 'second-key-0123456789')}; echo ${HOME_KEY.slice(0, 8)}${'""'}${HOME_KEY.slice(8)}`,
      ),
    ).toMatch(/same\n\[redacted\]/);
    api.seen.length = 0;
    await run('friends', 'curl -sS http://127.0.0.1:8118/cred/api/items/1');
    expect(api.seen[0]?.authorization).toBe('Bearer second-token-0123456789');
    await writeFile(home.envFile, 'HOME_KEY="third');
    await expect.poll(audited, { timeout: 10_000 }).toContain('secrets-refused');
    expect(await run('friends', isSet('COMPOSIO_API_KEY', 'second-key-0123456789'))).toContain('same');
    expect(await audited()).not.toContain('third');
  });
});
