/** The rules of the tidy test that look at one file at a time: each takes sources and returns what breaks it. */
import { basename } from 'node:path';
import ts from 'typescript';
import { type Finding, findIn, finding, importsOf, type Source } from './sources.ts';

const TIER_TABLE = 'src/domain/tiers.ts';
const TIERS = new Set(['main', 'trusted', 'untrusted']);
const TABLES = new Set([TIER_TABLE, 'src/runtimes/seccomp.ts']);
const ENVIRONMENT_READERS = /^(src\/config\.ts|container\/runner\/.*)$/;
const BANNED_NAME = /(^|[-_/.])(utils?|helpers?|managers?)([-_/.]|$)/i;

/** These only ever go down. */
export const MOST = { fileLines: 250, functionLines: 50, parameters: 3, nesting: 2 };

const linesOf = (text: string): number => text.trimEnd().split('\n').length;

export const longFiles = (all: readonly Source[]): readonly Finding[] =>
  all
    .filter(({ path, text }) => !TABLES.has(path) && linesOf(text) > MOST.fileLines)
    .map(({ path, text }) => `${path}:1: ${linesOf(text)} lines, at most ${MOST.fileLines}`);

export const longFunctions = (all: readonly Source[]): readonly Finding[] =>
  findIn(all, (node) => {
    if (!ts.isFunctionLike(node) || !('body' in node)) return undefined;
    const lines = linesOf(node.getText());
    return lines > MOST.functionLines ? `a function of ${lines} lines, at most ${MOST.functionLines}` : undefined;
  });

export const manyParameters = (all: readonly Source[]): readonly Finding[] =>
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

export const deepNesting = (all: readonly Source[]): readonly Finding[] =>
  findIn(all, (node) =>
    isControl(node) && nestingOf(node) > MOST.nesting
      ? `nested ${nestingOf(node)} deep, at most ${MOST.nesting}`
      : undefined,
  );

/** A property's name is a field of somebody's data, never a tier. */
const isPropertyName = (node: ts.Node): boolean => ts.isPropertyAssignment(node.parent) && node.parent.name === node;

export const tierLiterals = (all: readonly Source[]): readonly Finding[] =>
  findIn(
    all.filter(({ path }) => path !== TIER_TABLE),
    (node) => {
      if (!ts.isStringLiteralLike(node) || !TIERS.has(node.text) || isPropertyName(node)) return undefined;
      return `the literal '${node.text}' stands in ${TIER_TABLE} only; read a field of the tier's row`;
    },
  );

const isProcess = (node: ts.Node): boolean => ts.isIdentifier(node) && node.text === 'process';

export const environmentReads = (all: readonly Source[]): readonly Finding[] =>
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

export const defaultExports = (all: readonly Source[]): readonly Finding[] =>
  findIn(all, (node) => {
    const isNamedDefault = ts.isExportSpecifier(node) && node.name.text === 'default';
    return ts.isExportAssignment(node) || hasDefault(node) || isNamedDefault ? 'a default export' : undefined;
  });

export const topLevelVariables = (all: readonly Source[]): readonly Finding[] =>
  all.flatMap((source) =>
    source.tree.statements
      .filter((node) => ts.isVariableStatement(node) && (node.declarationList.flags & ts.NodeFlags.Const) === 0)
      .map((node) => finding(source, node, 'state at the top level')),
  );

export const dynamicImports = (all: readonly Source[]): readonly Finding[] =>
  findIn(all, (node) =>
    ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword ? 'a dynamic import' : undefined,
  );

export const bareImports = (all: readonly Source[]): readonly Finding[] =>
  all
    .flatMap(importsOf)
    .filter(({ isBare }) => isBare)
    .map(({ from, to, line }) => `${from}:${line}: imports ${to} for what it does on import`);

export const consoleCalls = (all: readonly Source[]): readonly Finding[] =>
  findIn(all, (node) =>
    ts.isPropertyAccessExpression(node) && ts.isIdentifier(node.expression) && node.expression.text === 'console'
      ? 'console; the outermost loop logs or prints'
      : undefined,
  );

export const unfinished = (all: readonly Source[]): readonly Finding[] =>
  all.flatMap(({ path, text }) =>
    text
      .split('\n')
      .flatMap((line, index) => (/\b(TODO|FIXME|XXX)\b/.test(line) ? [`${path}:${index + 1}: unfinished`] : [])),
  );

export const headless = (all: readonly Source[]): readonly Finding[] =>
  all
    .filter(({ text }) => !/^(#!.*\n)?(\/\*\*|\/\/)/.test(text))
    .map(({ path }) => `${path}:1: begins without a sentence on what it is`);

export const bannedNames = (all: readonly Source[]): readonly Finding[] =>
  all
    .filter(({ path }) => BANNED_NAME.test(path))
    .map(({ path }) => `${path}:1: '${basename(path)}' names nothing; a file is called after the noun it owns`);
