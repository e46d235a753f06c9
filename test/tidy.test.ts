/** The architecture as tests: who may import whom, sizes, tier literals, dead files.  */
import { describe, expect, it } from 'vitest';
import * as rules from './setup/rules.ts';
import {
  cyclesOf,
  type Finding,
  graphOf,
  type Import,
  importsOf,
  parseSource,
  reachableFrom,
  type Source,
  sourcesIn,
} from './setup/sources.ts';

/**
 * Who may import what. A name is a folder of src/ or a file in it; a file's own row comes before its folder's. What a
 * folder imports of itself needs no entry. `type …`: with `import type` only.
 */
const ALLOWED: Readonly<Record<string, readonly string[]>> = {
  domain: [],
  'errors.ts': [],
  'package-root.ts': [],
  'protocol.ts': ['domain'],
  'logger.ts': [],
  'home.ts': ['domain'],
  'secrets.ts': ['type errors.ts', 'secrets'],
  secrets: ['domain', 'errors.ts', 'secrets.ts', 'type audit.ts', 'type home.ts'],
  'audit.ts': ['audit', 'domain', 'errors.ts'],
  audit: ['domain', 'errors.ts'],
  'config.ts': ['domain', 'config-parse.ts', 'errors.ts', 'type home.ts'],
  'config-parse.ts': ['config-words.ts', 'errors.ts'],
  'config-words.ts': [],
  'planning.ts': ['domain', 'errors.ts', 'home.ts', 'type config.ts'],
  store: ['domain', 'errors.ts', 'home.ts', 'protocol.ts', 'package-root.ts'],
  files: ['errors.ts'],
  runtimes: ['domain', 'errors.ts'],
  channels: ['domain', 'errors.ts'],
  gateway: ['domain', 'errors.ts', 'secrets.ts', 'type config.ts', 'type audit.ts'],
  flow: [
    'domain',
    'store',
    'files',
    'errors.ts',
    'home.ts',
    'protocol.ts',
    'logger.ts',
    'type audit.ts',
    'type secrets.ts',
    'runtimes/runtime.ts',
    'channels/channel.ts',
    'gateway/gateway.ts',
  ],
  ops: [
    'domain',
    'type flow',
    'store',
    'files',
    'audit',
    'type audit.ts',
    'errors.ts',
    'type home.ts',
    'type config.ts',
    'type secrets.ts',
    'type runtimes/runtime.ts',
    'type channels/local.ts',
  ],
  commands: [
    'domain',
    'store',
    'ops',
    'errors.ts',
    'home.ts',
    'config.ts',
    'audit.ts',
    'audit',
    'package-root.ts',
    'planning.ts',
    'secrets',
    'daemon.ts',
    'examine.ts',
    'retention.ts',
    // The image is made for turns, not in one: the engine itself is spoken to.
    'runtimes/engine.ts',
    'runtimes/image.ts',
    'redteam',
  ],
  // A supervisor of its own in a scratch home, and what attacks it; the files of `probes/` run in containers as well.
  redteam: [
    'domain',
    'store',
    'errors.ts',
    'home.ts',
    'package-root.ts',
    'planning.ts',
    'config.ts',
    'app.ts',
    'type ops/control-protocol.ts',
    'gateway/cancel.ts',
    'gateway/rehearsal.ts',
    'runtimes',
  ],
  // Both halves of the composition root.
  'app.ts': ['*'],
  'parts.ts': ['*'],
  'disk.ts': ['*'],
  // Another: what is cleared away, for the supervisor and for the command line.
  'retention.ts': ['*'],
  // The doctor's own composition root: it looks at the parts and builds none of them.
  'examine.ts': [
    'domain',
    'errors.ts',
    'config.ts',
    'home.ts',
    'type secrets.ts',
    'secrets',
    'logger.ts',
    'planning.ts',
    'package-root.ts',
    'flow/tiles.ts',
    'gateway/preflight.ts',
    'gateway/providers.ts',
    'runtimes',
    'ops/doctor.ts',
  ],
  'cli.ts': ['commands', 'errors.ts', 'config.ts', 'home.ts', 'package-root.ts'],
  'daemon.ts': ['app.ts', 'config.ts'],
  'supervisor-program.ts': ['daemon.ts', 'errors.ts'],
  '../container': ['protocol.ts', 'domain', 'errors.ts'],
};

/** Packages that only one folder may know; everything else there is goes through its port. */
const PACKAGE_OWNERS: Readonly<Record<string, string>> = {
  dockerode: 'runtimes',
  'better-sqlite3': 'store',
};
/** The pure folder: neither Node's own modules nor packages, but for these. */
const DOMAIN_PACKAGES = ['zod', 'ipaddr.js'];

const ENTRIES = [
  'src/cli.ts',
  'src/supervisor-program.ts',
  'src/store/copy-worker.ts',
  'src/store/backup-worker.ts',
  'src/files/measure-worker.ts',
  'src/store/retention-worker.ts',
  'container/runner/main.ts',
  'container/web-fetch/main.ts',
  'src/redteam/inside/main.ts',
];

const sources = sourcesIn(['src', 'container']);
const imports = sources.flatMap(importsOf);

/** `src/flow/queue.ts` → `flow/queue.ts`; `container/…` → `../container/…`: as the table names them. */
const nameInTable = (path: string): string => (path.startsWith('src/') ? path.slice('src/'.length) : `../${path}`);

const folderOf = (name: string): string =>
  name
    .split('/')
    .slice(0, name.startsWith('../') ? 2 : 1)
    .join('/');

const rowOf = (path: string): string => {
  const name = nameInTable(path);
  return Object.hasOwn(ALLOWED, name) ? name : folderOf(name);
};

/** The entry of a row that allows an import; undefined where none does. */
const entryFor = (one: Import): string | undefined => {
  const target = nameInTable(one.to);
  const names = [target, folderOf(target)];
  return (ALLOWED[rowOf(one.from)] ?? []).find((entry) => {
    if (entry === '*') return true;
    return names.includes(entry.replace(/^type /, '')) && (one.isTypeOnly || !entry.startsWith('type '));
  });
};

const isWithinRow = (one: Import): boolean =>
  folderOf(nameInTable(one.from)) === folderOf(nameInTable(one.to)) && nameInTable(one.to).includes('/');

const isFile = ({ to }: Import): boolean => to.endsWith('.ts');

const forbiddenImports = (all: readonly Import[]): readonly Finding[] =>
  all
    .filter((one) => isFile(one) && !isWithinRow(one) && entryFor(one) === undefined)
    .map(
      ({ from, to, line, isTypeOnly }) =>
        `${from}:${line}: imports ${isTypeOnly ? 'a type of ' : ''}${to}; row '${rowOf(from)}' of ALLOWED doesn't have it`,
    );

const staleEntries = (all: readonly Import[]): readonly Finding[] => {
  const used = new Set(all.filter(isFile).map((one) => `${rowOf(one.from)} ${entryFor(one)}`));
  return Object.entries(ALLOWED).flatMap(([row, entries]) =>
    entries
      .filter((entry) => !used.has(`${row} ${entry}`))
      .map((entry) => `row '${row}' of ALLOWED: '${entry}' is unused`),
  );
};

const foreignPackages = (all: readonly Import[]): readonly Finding[] =>
  all
    .filter((one) => !isFile(one))
    .filter(({ from, to }) => {
      const folder = folderOf(nameInTable(from));
      return folder === 'domain' ? !DOMAIN_PACKAGES.includes(to) : (PACKAGE_OWNERS[to] ?? folder) !== folder;
    })
    .map(({ from, to, line }) => `${from}:${line}: '${to}' has no place here; see PACKAGE_OWNERS, DOMAIN_PACKAGES`);

const cycles = (all: readonly Source[]): readonly string[] =>
  cyclesOf(graphOf(all.flatMap(importsOf).filter(({ isTypeOnly }) => !isTypeOnly)));

const deadFiles = (all: readonly Source[]): readonly Finding[] => {
  const reached = reachableFrom(graphOf(all.flatMap(importsOf)), ENTRIES);
  return all.filter(({ path }) => !reached.has(path)).map(({ path }) => `${path}:1: no program reaches it`);
};

describe('the sources', () => {
  it('import only what the table allows', () => {
    expect(forbiddenImports(imports)).toEqual([]);
  });

  it('need every entry of the table', () => {
    expect(staleEntries(imports)).toEqual([]);
  });

  it('have a row of the table each', () => {
    expect(sources.map(({ path }) => rowOf(path)).filter((row) => !Object.hasOwn(ALLOWED, row))).toEqual([]);
  });

  it('know a package only where it belongs', () => {
    expect(foreignPackages(imports)).toEqual([]);
  });

  it('are all reached from a program', () => {
    expect(deadFiles(sources)).toEqual([]);
  });
});

type Rule = (all: readonly Source[]) => readonly Finding[];

/** Each rule with a text that breaks it: a rule that finds nothing anywhere proves nothing. */
const RULES: readonly (readonly [string, Rule, string])[] = [
  ['have no import cycle', cycles, "import { a } from './example.ts';"],
  [`have at most ${rules.MOST.fileLines} lines`, rules.longFiles, 'a;\n'.repeat(rules.MOST.fileLines + 1)],
  [
    `have functions of at most ${rules.MOST.functionLines} lines`,
    rules.longFunctions,
    `() => {${'\n'.repeat(rules.MOST.functionLines)}};`,
  ],
  [`have at most ${rules.MOST.parameters} parameters`, rules.manyParameters, 'const f = (a, b, c, d) => a;'],
  [`nest at most ${rules.MOST.nesting} deep`, rules.deepNesting, 'for (;;) { while (a) { if (b) c(); } }'],
  ['name no tier', rules.tierLiterals, "const tier: 'trusted' = other;"],
  ['read no environment', rules.environmentReads, 'process.env.HOME;'],
  ['import no environment', rules.environmentReads, "import { env } from 'node:process';"],
  ['have no default export', rules.defaultExports, 'export default 1;'],
  ['have no default function', rules.defaultExports, 'export default function f() {}'],
  ['keep no state at the top level', rules.topLevelVariables, 'let count = 0;'],
  ['import nothing dynamically', rules.dynamicImports, "await import('./other.ts');"],
  ['import nothing for its effects', rules.bareImports, "import './other.ts';"],
  ['write to no console', rules.consoleCalls, 'console.log(1);'],
  ['are finished', rules.unfinished, '// TODO: the rest'],
  ['begin with what they are', rules.headless, 'export const a = 1;'],
];

describe.each(RULES)('the sources %s', (_title, rule, broken) => {
  it('in every file', () => {
    expect(rule(sources)).toEqual([]);
  });

  it('and the rule sees what breaks it', () => {
    expect(rule([parseSource('src/flow/example.ts', broken)])).toHaveLength(1);
  });
});

describe('the names of files', () => {
  it('say what they own', () => {
    expect(rules.bannedNames(sources)).toEqual([]);
  });

  it.each(['src/flow/utils.ts', 'src/turn-helper.ts', 'src/managers/a.ts'])('would not be %s', (path) => {
    expect(rules.bannedNames([parseSource(path, '')])).toHaveLength(1);
  });
});

const example = (from: string, to: string, isTypeOnly = false): Import => ({
  from: `src/${from}`,
  to,
  isTypeOnly,
  isBare: false,
  line: 1,
});

describe('the table of imports', () => {
  it.each([
    example('domain/example.ts', 'src/errors.ts'),
    example('store/example.ts', 'src/files/tree.ts'),
    example('flow/example.ts', 'src/runtimes/docker.ts'),
    example('ops/example.ts', 'src/flow/queue.ts'),
    example('errors.ts', 'src/home.ts', true),
    example('../container/runner/example.ts', 'src/home.ts'),
  ])('refuses $from → $to', (one) => {
    expect(forbiddenImports([{ ...one, from: one.from.replace('src/../', '') }])).toHaveLength(1);
  });

  it.each([
    example('domain/example.ts', 'node:fs'),
    example('flow/example.ts', 'dockerode'),
    example('commands/example.ts', 'better-sqlite3', true),
  ])('refuses $from → $to', (one) => {
    expect(foreignPackages([one])).toHaveLength(1);
  });

  it('sees an entry that nothing uses', () => {
    expect(staleEntries([])).toContain("row 'home.ts' of ALLOWED: 'domain' is unused");
  });

  it('sees a file that no program reaches', () => {
    expect(deadFiles([parseSource('src/flow/example.ts', '')])).toHaveLength(1);
  });
});
