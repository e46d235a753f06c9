import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseConfig } from '../../src/config.ts';
import { isBeneathPrefix, parsePath } from '../../src/domain/credential-path.ts';
import { planCredentials } from '../../src/domain/credential-plan.ts';
import { isReservedVariable, valueProblem } from '../../src/domain/credential-variable.ts';
import { AgentAlias, GroupFolder } from '../../src/domain/ids.ts';
import { TIER_NAMES, type TierName, tierRow } from '../../src/domain/tiers.ts';

const configOf = (credential: string, more = '') =>
  parseConfig(`credentials:\n  ${credential}\n${more}`, 't.yaml').credentials;

const holders = (credential: string, more = ''): string[] => {
  const credentials = configOf(credential, more);
  return TIER_NAMES.flatMap((tier) =>
    ['default', 'alice'].flatMap((agent) =>
      ['lobby', 'team'].flatMap((folder) => {
        const holder = { row: tierRow(tier), agent: AgentAlias.parse(agent), folder: GroupFolder.parse(folder) };
        const { routes, environment } = planCredentials(credentials, holder);
        return routes.length + environment.length === 0 ? [] : [`${tier}/${agent}/${folder}`];
      }),
    ),
  );
};

const ALICE = 'agents: { alice: {} }';
const ROUTE = 'kind: route, baseUrl: "https://api.example", secret: KEY, pathPrefixes: [/]';
const VARIABLE = 'kind: environment, variable: API_KEY, secret: KEY';
const of = (tier: TierName): string[] =>
  ['default', 'alice'].flatMap((agent) => ['lobby', 'team'].map((folder) => `${tier}/${agent}/${folder}`));

describe.each([ROUTE, VARIABLE])('a credential (%s)', (what) => {
  it.each([
    ['', of('main')],
    [', tiers: [trusted]', of('trusted')],
    [', tiers: [main, trusted]', [...of('main'), ...of('trusted')]],
    [', agents: [alice]', ['main/alice/lobby', 'main/alice/team']],
    [', groups: [team]', ['main/default/team', 'main/alice/team']],
    [', tiers: [trusted], agents: [alice], groups: [team]', ['trusted/alice/team']],
  ])('with the scopes {%s} goes to those alone', (scopes, expected) => {
    expect(holders(`a: { ${what}${scopes} }`, ALICE)).toEqual(expected);
  });

  it('is never an untrusted chat’s: the file that says so is refused, with the line', () => {
    const attempt = () => configOf(`a: { ${what}, tiers: [trusted, untrusted] }`);
    expect(attempt).toThrow(/t\.yaml:2: credentials\.a\.tiers: chats of the tier "untrusted" never get a credential/);
  });

  it('never reaches a row without the right, whatever the plan is made of', () => {
    const row = tierRow('untrusted');
    const credentials = configOf(`a: { ${what}, tiers: [trusted] }`);
    const { a } = credentials;
    if (a === undefined) throw new Error('no credential');
    const forged = { a: { ...a, tiers: [...TIER_NAMES] } };
    const holder = { row, agent: AgentAlias.parse('default'), folder: GroupFolder.parse('lobby') };
    expect(planCredentials(forged, holder)).toEqual({ routes: [], environment: [] });
  });
});

describe('what a plan says of a credential', () => {
  it('is names alone; an agent’s own secret is looked up at that agent', () => {
    const credentials = configOf(
      `a: { ${VARIABLE}, perAgent: true }\n  b: { ${ROUTE}, basic: git, methods: [GET, POST] }`,
    );
    const holder = { row: tierRow('main'), agent: AgentAlias.parse('alice'), folder: GroupFolder.parse('team') };
    expect(planCredentials(credentials, holder)).toMatchObject({
      environment: [{ name: 'a', variable: 'API_KEY', secret: { name: 'KEY', agent: 'alice' } }],
      routes: [{ name: 'b', secret: { name: 'KEY', agent: null }, auth: { kind: 'basic', user: 'git' } }],
    });
  });
});

describe('the configuration refuses', () => {
  const PLAIN = 'kind: route, secret: KEY';
  it.each([
    ['another scheme', `a: { ${PLAIN}, baseUrl: "http://api.example", pathPrefixes: [/] }`, 'https:// alone'],
    [
      'a password in the address',
      `a: { ${PLAIN}, baseUrl: "https://u:p@api.example", pathPrefixes: [/] }`,
      'name a secret',
    ],
    [
      'a query in the address',
      `a: { ${PLAIN}, baseUrl: "https://api.example/?k=1", pathPrefixes: [/] }`,
      'only scheme',
    ],
    ['no prefix', `a: { ${PLAIN}, baseUrl: "https://api.example" }`, 'pathPrefixes'],
    [
      'a prefix with ..',
      `a: { ${PLAIN}, baseUrl: "https://api.example", pathPrefixes: [/a/../b] }`,
      'a path as it stands',
    ],
    [
      'an encoded prefix',
      `a: { ${PLAIN}, baseUrl: "https://api.example", pathPrefixes: [/a%20b] }`,
      'a path as it stands',
    ],
    ['a header without {secret}', `a: { ${ROUTE}, header: "authorization: Bearer" }`, '{secret}'],
    ['a header with two', `a: { ${ROUTE}, header: "x: {secret}{secret}" }`, 'once'],
    ['a header of two lines', `a: { ${ROUTE}, header: "x: {secret}\\r\\nhost: evil" }`, 'a header as it is sent'],
    ['the header Host', `a: { ${ROUTE}, header: "Host: {secret}" }`, 'gateway’s own'],
    ['header and basic', `a: { ${ROUTE}, header: "x: {secret}", basic: git }`, 'not both'],
    ['a user with a colon', `a: { ${ROUTE}, basic: "a:b" }`, 'without spaces and colons'],
    ['passing on who asks', `a: { ${ROUTE}, passHeaders: [x-api-key] }`, 'who is asking'],
    ['passing on a frame', `a: { ${ROUTE}, passHeaders: [transfer-encoding] }`, 'gateway’s own'],
    ['an unknown method', `a: { ${ROUTE}, methods: [CONNECT] }`, 'methods'],
    ['an unknown agent', `a: { ${ROUTE}, agents: [nobody] }`, 'there is no agent "nobody"'],
    ['an unknown key', `a: { ${ROUTE}, hosts: [x] }`, 'hosts'],
    ['a secret’s value', `a: { kind: environment, variable: KEY, secret: "sk-abc" }`, 'the name of a secret'],
    ['a variable that steers', `a: { kind: environment, variable: LD_PRELOAD, secret: KEY }`, 'steers programs'],
    ['a name in capitals', `A: { ${ROUTE} }`, 'a credential’s name'],
    ['one variable twice', `a: { ${VARIABLE} }\n  b: { ${VARIABLE}, tiers: [main] }`, 'from "a", too'],
  ])('%s', (_, credential, words) => {
    expect(() => configOf(credential)).toThrow(words);
    expect(() => configOf(credential)).not.toThrow('sk-abc');
  });

  it('nothing where two secrets for one variable never meet', () => {
    expect(() =>
      configOf(`a: { ${VARIABLE}, agents: [default] }\n  b: { ${VARIABLE}, agents: [alice] }`, ALICE),
    ).not.toThrow();
    expect(() => configOf(`a: { ${VARIABLE} }\n  b: { ${VARIABLE}, tiers: [trusted] }`)).not.toThrow();
  });
});

describe('a path', () => {
  it('that passes is one that URL normalisation leaves as it is', () => {
    const piece = fc.constantFrom(
      'a',
      'B',
      '.',
      '..',
      '/',
      '//',
      '%2e',
      '%2F',
      '%5c',
      '\\',
      ';',
      '%20',
      '%25',
      '%c3%a9',
      '?',
      '#',
      '@',
      '~',
      '\t',
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 8 }), (pieces) => {
        const path = `/${pieces.join('')}`;
        if (!parsePath(path).ok) return;
        const url = new URL(path, 'https://api.example');
        expect(url.pathname).toBe(path);
        expect(url.origin).toBe('https://api.example');
        expect(decodeURIComponent(path).split('/')).toHaveLength(path.split('/').length);
      }),
      { numRuns: 2000 },
    );
  });

  it.each([
    ['/repos/x', true],
    ['/repos/x/y', true],
    ['/repos/x/', true],
    ['/repos/xy', false],
    ['/repos', false],
    ['/Repos/x', false],
    ['/repos/%78', false],
  ])('%s lies beneath /repos/x: %s', (path, expected) => {
    const segments = path.slice(1).split('/');
    for (const prefix of ['/repos/x', '/repos/x/']) expect(isBeneathPrefix(segments, prefix)).toBe(expected);
  });
});

describe('a variable', () => {
  it.each([
    'PATH',
    'HOME',
    'LD_PRELOAD',
    'NODE_OPTIONS',
    'HTTPS_PROXY',
    'PROXY',
    'BASH_ENV',
    'ENV',
    'GIT_SSH_COMMAND',
    'PYTHONPATH',
    'PYTHONSTARTUP',
    'PERL5OPT',
    'TIERCLAW_HOME',
    'LC_ALL',
    'NPM_CONFIG_REGISTRY',
    'SSL_CERT_FILE',
    'GLIBC_TUNABLES',
    'IFS',
  ])('%s steers programs', (name) => {
    expect(isReservedVariable(name)).toBe(true);
  });

  it.each(['GITHUB_TOKEN', 'COMPOSIO_API_KEY', 'PATHFINDER_KEY', 'HOMEPAGE_TOKEN', 'MY_NODE_TOKEN'])(
    '%s is free',
    (name) => {
      expect(isReservedVariable(name)).toBe(false);
    },
  );

  it.each([
    ['12345', 'shorter than 6'],
    ['a\0bcdefg', 'NUL'],
    ['ä'.repeat(20_000), 'longer than 32768 bytes'],
    ['ordinary-value', null],
  ])('with a value that can’t be given is refused without it', (value, words) => {
    const problem = valueProblem(value);
    if (words === null) expect(problem).toBeNull();
    else expect(problem).toContain(words);
    expect(problem ?? '').not.toContain(value);
  });
});
