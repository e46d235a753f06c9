/**
 * A mistake in the operator's file in words: what was found at a key, and what is allowed there, the latter taken from
 * the schema itself. A value that may be a secret is never repeated.
 */
import { z } from 'zod';

type Node = z.core.JSONSchema.BaseSchema;
type Issue = z.core.$ZodIssue;
type Path = readonly PropertyKey[];

/** `path`: the key that is wrong; `text`: what is wrong about it. */
export interface Mistake {
  readonly path: Path;
  readonly text: string;
  readonly hint?: string;
}

/** Keys of the systems that TierClaw descends from, and what to do instead. */
const HINTS: Readonly<Record<string, string>> = {
  groups: 'groups are registered with: tierclaw groups register <id> --folder <folder> --tier <tier>',
  isMain: 'a group’s tier is set with: tierclaw groups register <id> --folder <folder> --tier main',
  trusted: 'a group’s tier is set with: tierclaw groups register <id> --folder <folder> --tier trusted',
  containerConfig: 'a group’s tier decides what its container gets; see: tierclaw plan <group>',
  tier: 'a group’s tier is set with: tierclaw groups register <id> --folder <folder> --tier <tier>',
};

const SHOWN_CHARS = 60;
const MAY_BE_SECRET = /key|token|secret|password|credential/i;

const isRecord = (value: unknown): value is Record<string, unknown> =>
  value !== null && typeof value === 'object' && !Array.isArray(value);

const nodeOf = (value: unknown): readonly Node[] => (isRecord(value) ? [value] : []);

const stepInto = (value: unknown, key: PropertyKey): unknown => {
  if (Array.isArray(value)) return value[Number(key)];
  return isRecord(value) ? value[String(key)] : undefined;
};

const valueAt = (value: unknown, path: Path): unknown => path.reduce(stepInto, value);

/** Whether the words that tell alternatives apart (`kind: …`) are those of the value. */
const isMeant = (node: Node, value: unknown): boolean =>
  Object.entries(node.properties ?? {}).every(([key, property]) =>
    nodeOf(property).every(({ const: wanted }) => wanted === undefined || stepInto(value, key) === wanted),
  );

/** Of a schema's alternatives those that the value means; all where it means none. */
const alternativesOf = (node: Node, value: unknown): readonly Node[] => {
  const all = (node.anyOf ?? node.oneOf)?.flatMap(nodeOf) ?? [node];
  const meant = all.filter((one) => isMeant(one, value));
  return meant.length === 0 ? all : meant;
};

const childrenOf = (node: Node, key: PropertyKey): readonly Node[] => {
  const named = nodeOf(node.properties?.[String(key)]);
  if (named.length > 0) return named;
  return nodeOf(typeof key === 'number' ? node.items : node.additionalProperties);
};

/** What the schema has at a path of a value. */
const nodesAt = (root: Node, path: Path, value: unknown): readonly Node[] => {
  const at = path.reduce<{ readonly nodes: readonly Node[]; readonly value: unknown }>(
    (within, key) => ({
      nodes: within.nodes
        .flatMap((node) => childrenOf(node, key))
        .flatMap((node) => open(node, stepInto(within.value, key))),
      value: stepInto(within.value, key),
    }),
    { nodes: open(root, value), value },
  );
  return at.nodes;
};

const open = (node: Node, value: unknown): readonly Node[] => alternativesOf(node, value);

/** zod writes "no bound" of a whole number as the largest that a double holds exactly. */
const bound = (value: number | undefined): number | undefined =>
  value !== undefined && Math.abs(value) >= Number.MAX_SAFE_INTEGER ? undefined : value;

const rangeOf = ({ minimum, maximum, exclusiveMinimum }: Node): string => {
  const from = exclusiveMinimum ?? bound(minimum);
  const to = bound(maximum);
  const low = from === undefined ? '' : ` ${exclusiveMinimum === undefined ? 'from' : 'above'} ${from}`;
  return `${low}${to === undefined ? '' : ` to ${to}`}`;
};

const keysOf = (node: Node): readonly string[] => [
  ...Object.keys(node.properties ?? {}),
  ...nodeOf(node.propertyNames).flatMap((names) => names.enum?.map(String) ?? []),
];

const KINDS: Readonly<Record<string, (node: Node) => string>> = {
  integer: (node) => `a whole number${rangeOf(node)}`,
  number: (node) => `a number${rangeOf(node)}`,
  boolean: () => 'true or false',
  null: () => 'null',
  string: ({ format, pattern }) => {
    if (format === 'uri') return 'an address, http://… or https://…';
    return pattern === undefined ? 'a text' : `a text that matches ${pattern}`;
  },
  array: ({ items, minItems }) =>
    `a list of ${minItems === undefined ? '' : `at least ${minItems} `}[${inWords(nodeOf(items)) || 'values'}, …]`,
  object: (node) => `keys below it${keysOf(node).length === 0 ? '' : `: ${keysOf(node).join(', ')}`}`,
};

const inWord = (node: Node): string => {
  if (node.const !== undefined) return String(node.const);
  if (node.enum !== undefined) return node.enum.map(String).join(', ');
  return KINDS[String(node.type)]?.(node) ?? inWords(alternativesOf(node, undefined).filter((one) => one !== node));
};

const inWords = (nodes: readonly Node[]): string => [...new Set(nodes.map(inWord))].join(' or ');

const found = (value: unknown, path: Path): string => {
  if (value === undefined) return 'missing';
  if (value === null) return 'found nothing';
  if (Array.isArray(value)) return 'found a list';
  if (isRecord(value)) return 'found keys below it';
  if (typeof value !== 'string') return `found ${String(value)}`;
  if (path.some((key) => MAY_BE_SECRET.test(String(key)))) return `found a text of ${value.length} characters`;
  return `found ${JSON.stringify(value.length > SHOWN_CHARS ? `${value.slice(0, SHOWN_CHARS)}…` : value)}`;
};

const isOfOtherShape = (issues: readonly Issue[]): boolean =>
  issues.some(({ code, path }) => code === 'invalid_type' && path.length === 0);

/** Where a value has the shape of one alternative only, the complaint of that one says most. */
const innermost = (issue: Issue): Issue => {
  if (issue.code === 'invalid_key') return { ...(issue.issues[0] ?? issue), path: issue.path };
  if (issue.code !== 'invalid_union') return issue;
  const near = issue.errors.filter((issues) => !isOfOtherShape(issues));
  const [only] = near.length === 1 ? near : [];
  const inner = only?.find(({ code }) => code === 'unrecognized_keys') ?? only?.[0];
  return inner === undefined ? issue : innermost({ ...inner, path: [...issue.path, ...inner.path] });
};

const unknownKey = (key: string, path: Path, nodes: readonly Node[]): Mistake => {
  const hint = HINTS[key];
  const allowed = [...new Set(nodes.flatMap(keysOf))];
  const text =
    allowed.length === 0 ? 'unknown key; none is allowed here' : `unknown key; allowed: ${allowed.join(', ')}`;
  return { path: [...path, key], text, ...(hint === undefined ? {} : { hint }) };
};

/** `raw`: of a parse of `value` that left a message empty wherever the schema has none of its own. */
export const describeMistake = (schema: z.ZodType, value: unknown, raw: Issue): Mistake => {
  const issue = innermost(raw);
  const { path } = issue;
  const nodes = nodesAt(z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }), path, value);
  if (issue.code === 'unrecognized_keys') return unknownKey(issue.keys[0] ?? '', path, nodes);
  const isAboutName = raw.code === 'invalid_key';
  const text = isAboutName ? 'is no name for it' : found(valueAt(value, path), path);
  return { path, text: `${text}; ${issue.message || `allowed: ${inWords(nodes)}`}` };
};
