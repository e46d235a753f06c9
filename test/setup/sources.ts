/** The program's sources as syntax trees, and what the tidy test asks of them. It only reads. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, posix, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

export interface Source {
  /** Relative to the checkout, with forward slashes. */
  readonly path: string;
  readonly text: string;
  readonly tree: ts.SourceFile;
}

export interface Import {
  readonly from: string;
  /** A path like `Source.path`, or a package's name, or `node:…`. */
  readonly to: string;
  readonly isTypeOnly: boolean;
  /** `import './x.ts'`: runs code and takes nothing. */
  readonly isBare: boolean;
  readonly line: number;
}

/** `path:line: what`; lists of these are what the tests compare with nothing. */
export type Finding = string;

export const parseSource = (path: string, text: string): Source => ({
  path,
  text,
  tree: ts.createSourceFile(path, text, ts.ScriptTarget.ES2023, true),
});

/** Every TypeScript file below the given folders of the checkout. */
export const sourcesIn = (folders: readonly string[]): readonly Source[] =>
  folders
    .flatMap((folder) => readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts') && !entry.name.endsWith('.d.ts'))
    .map((entry) => join(entry.parentPath, entry.name))
    .map((file) => parseSource(relative(ROOT, file), readFileSync(file, 'utf8')))
    .sort((a, b) => a.path.localeCompare(b.path));

export const lineOf = (source: Source, node: ts.Node): number =>
  source.tree.getLineAndCharacterOfPosition(node.getStart(source.tree)).line + 1;

export const finding = (source: Source, node: ts.Node, what: string): Finding =>
  `${source.path}:${lineOf(source, node)}: ${what}`;

/** Every node of a tree, in reading order. */
export function* nodesOf(node: ts.Node): Generator<ts.Node> {
  yield node;
  for (const child of node.getChildren()) yield* nodesOf(child);
}

/** Findings of one rule: `judge` says what is wrong with a node, or nothing. */
export const findIn = (
  sources: readonly Source[],
  judge: (node: ts.Node, source: Source) => string | undefined,
): readonly Finding[] =>
  sources.flatMap((source) =>
    [...nodesOf(source.tree)].flatMap((node) => {
      const what = judge(node, source);
      return what === undefined ? [] : [finding(source, node, what)];
    }),
  );

const packageOf = (specifier: string): string => {
  const depth = specifier.startsWith('@') ? 2 : 1;
  return specifier.startsWith('node:') ? specifier : specifier.split('/').slice(0, depth).join('/');
};

const targetOf = (from: string, specifier: string): string =>
  specifier.startsWith('.') ? posix.normalize(posix.join(dirname(from), specifier)) : packageOf(specifier);

const importOf = (source: Source, node: ts.Node): Import | undefined => {
  const isImport = ts.isImportDeclaration(node);
  if (!isImport && !ts.isExportDeclaration(node)) return undefined;
  if (node.moduleSpecifier === undefined || !ts.isStringLiteral(node.moduleSpecifier)) return undefined;
  return {
    from: source.path,
    to: targetOf(source.path, node.moduleSpecifier.text),
    isTypeOnly: isImport ? node.importClause?.isTypeOnly === true : node.isTypeOnly,
    isBare: isImport && node.importClause === undefined,
    line: lineOf(source, node),
  };
};

export const importsOf = (source: Source): readonly Import[] =>
  source.tree.statements.map((node) => importOf(source, node)).filter((found) => found !== undefined);

export type Graph = ReadonlyMap<string, readonly string[]>;

/** File → files that it imports; packages are left out. */
export const graphOf = (imports: readonly Import[]): Graph => {
  const graph = new Map<string, string[]>();
  for (const { from, to } of imports.filter((one) => one.to.endsWith('.ts'))) {
    graph.set(from, [...(graph.get(from) ?? []), to]);
  }
  return graph;
};

/** The files that are reached from some. */
export const reachableFrom = (graph: Graph, entries: readonly string[]): ReadonlySet<string> => {
  const reached = new Set<string>();
  const waiting = [...entries];
  for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
    if (reached.has(file)) continue;
    reached.add(file);
    waiting.push(...(graph.get(file) ?? []));
  }
  return reached;
};

/** One cycle for each file that can reach itself, as `a → b → a`; files of a cycle that was already told are left out. */
export const cyclesOf = (graph: Graph): readonly string[] => {
  const told = new Set<string>();
  return [...graph.keys()].flatMap((file) => {
    const cycle = told.has(file) ? undefined : pathBack(graph, file);
    for (const member of cycle ?? []) told.add(member);
    return cycle === undefined ? [] : [cycle.join(' → ')];
  });
};

const pathBack = (graph: Graph, start: string): readonly string[] | undefined => {
  const seen = new Set<string>();
  const waiting: string[][] = [[start]];
  for (let path = waiting.shift(); path !== undefined; path = waiting.shift()) {
    for (const next of graph.get(path.at(-1) ?? '') ?? []) {
      if (next === start) return [...path, next];
      if (!seen.has(next)) waiting.push([...path, next]);
      seen.add(next);
    }
  }
  return undefined;
};
