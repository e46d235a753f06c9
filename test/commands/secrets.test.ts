/** `tierclaw secrets` over a real home: names, sources, purposes, never a value. */
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Home } from '../../src/home.ts';
import { run, temporaryHome } from './home-fixture.ts';

const VALUES = { home: 'home-value-123456', alice: 'alice-value-123456', command: 'command-value-123456' };

const secretHome = async (): Promise<Home> => {
  const home = await temporaryHome();
  await run(home, ['init']);
  await mkdir(join(home.agents, 'alice'), { recursive: true });
  await writeFile(home.envFile, `KEY=${VALUES.home}\nSPARE=abcdef\n`, { mode: 0o600 });
  await writeFile(join(home.agents, 'alice', '.env'), `TOKEN=${VALUES.alice}\n`, { mode: 0o600 });
  await writeFile(
    home.configFile,
    [
      'agents: { alice: {} }',
      'providers: { claude: { kind: anthropic, apiKey: KEY, models: [m] } }',
      `secrets: { PRINTED: { command: [echo, ${VALUES.command}] } }`,
      'credentials:',
      '  git: { kind: route, baseUrl: "https://git.example", secret: TOKEN, perAgent: true, agents: [alice],',
      '         tiers: [trusted], pathPrefixes: [/a], basic: git }',
      '  mail: { kind: environment, variable: MAIL_KEY, secret: PRINTED, groups: [friends], tiers: [trusted] }',
    ].join('\n'),
  );
  return home;
};

const noValue = (result: unknown): void => {
  for (const value of Object.values(VALUES)) expect(JSON.stringify(result)).not.toContain(value);
};

describe('secrets list', () => {
  test('says of each where it comes from, what it is for and whom it reaches', async () => {
    const home = await secretHome();
    const result = await run(home, ['secrets', 'list']);
    expect(result.text.split('\n').map((line) => line.split(/ {2,}/))).toEqual([
      ['secret', 'of', 'from', 'for', 'reaches'],
      ['KEY', 'the home', home.envFile, 'providers.claude', 'no container'],
      ['PRINTED', 'the home', 'command echo', 'credentials.mail', 'MAIL_KEY in containers of trusted; groups friends'],
      ['SPARE', 'the home', home.envFile, 'nothing', '–'],
      [
        'TOKEN',
        'alice',
        join(home.agents, 'alice', '.env'),
        'credentials.git',
        '/cred/git → git.example for trusted; agents alice',
      ],
    ]);
    noValue(result);
  });

  test('names what is missing, and what can’t be read', async () => {
    const home = await secretHome();
    await chmod(join(home.agents, 'alice', '.env'), 0o644);
    const { text } = await run(home, ['secrets', 'list']);
    expect(text).toMatch(/^TOKEN +alice +MISSING/m);
    expect(text).toMatch(/^! .*alice\/\.env: others may read it/m);
  });
});

describe('secrets check', () => {
  test('is content with a home in good order', async () => {
    const result = await run(await secretHome(), ['secrets', 'check']);
    expect(result.text).toBe('✓ 4 secrets, all as they should be');
    expect(result.data).toEqual({ ok: true, secrets: 4, problems: [] });
    noValue(result);
  });

  test('finds a missing key, a broken file and a command that fails, each with what to do', async () => {
    const home = await secretHome();
    await writeFile(home.envFile, 'SPARE=abcdef\n');
    await chmod(join(home.agents, 'alice', '.env'), 0o604);
    const parsed = await run(home, ['secrets', 'check']);
    expect(parsed.text).toContain('✗ providers.claude: the secret KEY is not there');
    expect(parsed.text).toContain('its mode is 0604');
    expect(parsed.text).toContain(`chmod 600 ${join(home.agents, 'alice', '.env')}`);
    expect(parsed.text).toContain('✗ credentials.git: the secret TOKEN of the agent alice: it is not there');
    expect(parsed.text).toContain('mend what is named above first');
    expect(parsed.text).not.toContain('add the line');
    noValue(parsed);
  });
});
