/** The architecture as tests: who may import whom, sizes, tier literals, dead files. The numbers here only ever go down. */
import { basename } from 'node:path';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';
import {
  cyclesOf,
  type Finding,
  findIn,
  finding,
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
  'protocol.ts': [],
  'logger.ts': [],
  'home.ts': ['domain'],
  'secrets.ts': ['errors.ts'],
  'audit.ts': ['errors.ts'],
  'config.ts': ['domain', 'errors.ts', 'type home.ts'],
  'planning.ts': ['domain', 'errors.ts', 'home.ts', 'type config.ts'],
  store: ['domain', 'errors.ts', 'home.ts', 'package-root.ts'],
  files: ['domain', 'errors.ts', 'home.ts', 'protocol.ts'],
  runtimes: ['domain', 'errors.ts', 'package-root.ts'],
  channels: ['domain', 'errors.ts'],
  gateway: ['domain', 'errors.ts', 'protocol.ts', 'secrets.ts', 'type config.ts'],
  flow: [
    'domain',
    'store',
    'files',
    'errors.ts',
    'home.ts',
    'protocol.ts',
    'runtimes/runtime.ts',
    'channels/channel.ts',
    'gateway/gateway.ts',
  ],
  ops: ['domain', 'type flow', 'store', 'errors.ts', 'protocol.ts'],
  commands: ['domain', 'store', 'ops', 'errors.ts', 'home.ts', 'config.ts', 'protocol.ts', 'app.ts'],
  'app.ts': ['*'],
  'cli.ts': ['commands', 'errors.ts'],
  'daemon.ts': ['app.ts', 'config.ts'],
  '../container': ['protocol.ts', 'domain'],
};

/** Packages that only one folder may know; everything else there is goes through its port. */
const PACKAGE_OWNERS: Readonly<Record<string, string>> = {
  dockerode: 'runtimes',
  'better-sqlite3': 'store',
};
/** The pure folder: neither Node's own modules nor packages, but for these. */
const DOMAIN_PACKAGES = ['zod'];

const ENTRIES = ['src/cli.ts', 'src/daemon.ts', 'src/store/copy-worker.ts', 'container/runner/main.ts'];
const TIER_TABLE = 'src/domain/tiers.ts';
const TIERS = new Set(['main', 'trusted', 'untrusted']);
const TABLES = new Set([TIER_TABLE, 'src/runtimes/seccomp.ts']);
const ENVIRONMENT_READERS = /^(src\/config\.ts|container\/runner\/.*)$/;
const BANNED_NAME = /(^|[-_/.])(utils?|helpers?|managers?)([-_/.]|$)/i;
const MOST = { fileLines: 250, functionLines: 50, parameters: 3, nesting: 2 };

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

const linesOf = (text: string): number => text.trimEnd().split('\n').length;

const longFiles = (all: readonly Source[]): readonly Finding[] =>
  all
    .filter(({ path, text }) => !TABLES.has(path) && linesOf(text) > MOST.fileLines)
    .map(({ path, text }) => `${path}:1: ${linesOf(text)} lines, at most ${MOST.fileLines}`);

const longFunctions = (all: readonly Source[]): readonly Finding[] =>
  findIn(all, (node) => {
    if (!ts.isFunctionLike(node) || !('body' in node)) return undefined;
    const lines = linesOf(node.getText());
    return lines > MOST.functionLines ? `a function of ${lines} lines, at most ${MOST.functionLines}` : undefined;
  });

const manyParameters = (all: readonly Source[]): readonly Finding[] =>
  findIn(all, (node) => {
    if (!ts.isFunctionLike(node)) return undefined;
    const count = node.parameters.length;
    return count > MOST.parameters ? `${count} parameters, at most ${MOST.parameters}, then one object` : undefined;
  });

const isControl = (node: ts.Node): boolean => {
  const isElseIf = ts.isIfStatement(node) && ts.isIfStatement(node.parent) && node.parent.elseStatement === node;
  return (ts.isIfStatement(node) && !isElseIf) || ts.isIterationStatement(node, false) || ts.isSwitchStatement(node);
};

/** How many control statements of the same function hold a node, itself among them. */
const nestingOf = (node: ts.Node): number => {
  let depth = 0;
  for (let at = node; at !== undefined && !ts.isFunctionLike(at); at = at.parent) depth += isControl(at) ? 1 : 0;
  return depth;
};

const deepNesting = (all: readonly Source[]): readonly Finding[] =>
  findIn(all, (node) =>
    isControl(node) && nestingOf(node) > MOST.nesting
      ? `nested ${nestingOf(node)} deep, at most ${MOST.nesting}`
      : undefined,
  );

/** A property's name is a field of somebody's data, never a tier. */
const tierLiterals = (all: readonly Source[]): readonly Finding[] =>
  findIn(
    all.filter(({ path }) => path !== TIER_TABLE),
    (node) => {
      const isName = ts.isPropertyAssignment(node.parent) && node.parent.name === node;
      if (!ts.isStringLiteralLike(node) || isName || !TIERS.has(node.text)) return undefined;
      return `the literal '${node.text}' stands in ${TIER_TABLE} only; read a field of the tier's row`;
    },
  );

const isProcess = (node: ts.Node): boolean => ts.isIdentifier(node) && node.text === 'process';

const environmentReads = (all: readonly Source[]): readonly Finding[] =>
  findIn(
    all.filter(({ path }) => !ENVIRONMENT_READERS.test(path)),
    (node) => {
      const isRead = ts.isPropertyAccessExpression(node) && isProcess(node.expression) && node.name.text === 'env';
      const isImport =
        ts.isImportSpecifier(node) &&
        (node.propertyName ?? node.name).text === 'env' &&
        /^(node:)?process$/.test(node.parent.parent.parent.moduleSpecifier.getText().slice(1, -1));
      return isRead || isImport ? 'the environment is read in src/config.ts only' : undefined;
    },
  );

const hasDefault = (node: ts.Node): boolean =>
  ts.canHaveModifiers(node) && (ts.getModifiers(node) ?? []).some(({ kind }) => kind === ts.SyntaxKind.DefaultKeyword);

const defaultExports = (all: readonly Source[]): readonly Finding[] =>
  findIn(all, (node) => {
    const isNamedDefault = ts.isExportSpecifier(node) && node.name.text === 'default';
    return ts.isExportAssignment(node) || hasDefault(node) || isNamedDefault ? 'a default export' : undefined;
  });

const topLevelVariables = (all: readonly Source[]): readonly Finding[] =>
  all.flatMap((source) =>
    source.tree.statements
      .filter((node) => ts.isVariableStatement(node) && (node.declarationList.flags & ts.NodeFlags.Const) === 0)
      .map((node) => finding(source, node, 'state at the top level')),
  );

const dynamicImports = (all: readonly Source[]): readonly Finding[] =>
  findIn(all, (node) =>
    ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword ? 'a dynamic import' : undefined,
  );

const bareImports = (all: readonly Source[]): readonly Finding[] =>
  all
    .flatMap(importsOf)
    .filter(({ isBare }) => isBare)
    .map(({ from, to, line }) => `${from}:${line}: imports ${to} for what it does on import`);

const consoleCalls = (all: readonly Source[]): readonly Finding[] =>
  findIn(all, (node) =>
    ts.isPropertyAccessExpression(node) && ts.isIdentifier(node.expression) && node.expression.text === 'console'
      ? 'console; the outermost loop logs or prints'
      : undefined,
  );

const unfinished = (all: readonly Source[]): readonly Finding[] =>
  all.flatMap(({ path, text }) =>
    text
      .split('\n')
      .flatMap((line, index) => (/\b(TODO|FIXME|XXX)\b/.test(line) ? [`${path}:${index + 1}: unfinished`] : [])),
  );

const headless = (all: readonly Source[]): readonly Finding[] =>
  all
    .filter(({ text }) => !/^(#!.*\n)?(\/\*\*|\/\/)/.test(text))
    .map(({ path }) => `${path}:1: begins without a sentence on what it is`);

const bannedNames = (all: readonly Source[]): readonly Finding[] =>
  all
    .filter(({ path }) => BANNED_NAME.test(path))
    .map(({ path }) => `${path}:1: '${basename(path)}' names nothing; a file is called after the noun it owns`);

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
  [`have at most ${MOST.fileLines} lines`, longFiles, 'a;\n'.repeat(MOST.fileLines + 1)],
  [
    `have functions of at most ${MOST.functionLines} lines`,
    longFunctions,
    `() => {${'\n'.repeat(MOST.functionLines)}};`,
  ],
  [`have at most ${MOST.parameters} parameters`, manyParameters, 'const f = (a, b, c, d) => a;'],
  [`nest at most ${MOST.nesting} deep`, deepNesting, 'for (;;) { while (a) { if (b) c(); } }'],
  ['name no tier', tierLiterals, "const tier: 'trusted' = other;"],
  ['read no environment', environmentReads, 'process.env.HOME;'],
  ['import no environment', environmentReads, "import { env } from 'node:process';"],
  ['have no default export', defaultExports, 'export default 1;'],
  ['have no default function', defaultExports, 'export default function f() {}'],
  ['keep no state at the top level', topLevelVariables, 'let count = 0;'],
  ['import nothing dynamically', dynamicImports, "await import('./other.ts');"],
  ['import nothing for its effects', bareImports, "import './other.ts';"],
  ['write to no console', consoleCalls, 'console.log(1);'],
  ['are finished', unfinished, '// TODO: the rest'],
  ['begin with what they are', headless, 'export const a = 1;'],
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
    expect(bannedNames(sources)).toEqual([]);
  });

  it.each(['src/flow/utils.ts', 'src/turn-helper.ts', 'src/managers/a.ts'])('would not be %s', (path) => {
    expect(bannedNames([parseSource(path, '')])).toHaveLength(1);
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
    example('../container/runner/example.ts', 'src/errors.ts'),
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
