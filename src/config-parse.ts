/**
 * The text of the operator's file against its schema. A mistake is answered with file, line and key, what was found
 * and what is allowed.
 */
import { LineCounter, parseDocument, visit } from 'yaml';
import type { z } from 'zod';
import { describeMistake } from './config-words.ts';
import { AppError } from './errors.ts';

type Document = ReturnType<typeof parseDocument>;

/** Makes the error for a mistake at a key of the text; throw what it returns. */
export type Complain = (path: readonly PropertyKey[], text: string, hint?: string) => AppError;

const lineOf = (document: Document, lines: LineCounter, path: readonly PropertyKey[]): number => {
  for (let depth = path.length; depth > 0; depth -= 1) {
    const node = document.getIn(path.slice(0, depth), true);
    const range = node !== null && typeof node === 'object' && 'range' in node ? (node.range as number[] | null) : null;
    if (range?.[0] !== undefined) return lines.linePos(range[0]).line;
  }
  return 1;
};

const configError = (place: string, text: string, hint?: string): AppError =>
  new AppError({
    code: 'config',
    message: `${place}: ${text}`,
    hint: hint ?? 'mend the file; every key, with its default, is in groups/templates/tierclaw.yaml',
  });

/** An alias can make a small file huge, and no key here is long enough to need one. */
const refuseAliases = (document: Document, lines: LineCounter, file: string): void => {
  visit(document, {
    Alias: (_key, { source, range }) => {
      const { line } = lines.linePos(range?.[0] ?? 0);
      throw configError(`${file}:${line}`, `*${source}: aliases are not allowed`, 'write the value out');
    },
  });
};

/**
 * Parses a YAML text; `file` is named in errors. `complain` is for what no schema can say: a reference to a key that
 * isn't there. Throws AppError `config`.
 */
export const parseSettings = <T extends z.ZodType>(
  schema: T,
  text: string,
  file: string,
): { readonly settings: z.infer<T>; readonly complain: Complain } => {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, uniqueKeys: true });
  const [broken] = document.errors;
  if (broken !== undefined) {
    throw configError(`${file}:${lines.linePos(broken.pos[0]).line}`, broken.message.split('\n')[0] ?? 'not YAML');
  }
  refuseAliases(document, lines, file);
  const complain: Complain = (path, words, hint) =>
    configError(`${file}:${lineOf(document, lines, path)}`, `${path.map(String).join('.') || '(top)'}: ${words}`, hint);
  const value: unknown = document.toJS({ maxAliasCount: 0 }) ?? {};
  const parsed = schema.safeParse(value, { error: () => '' });
  if (parsed.success) return { settings: parsed.data, complain };
  const [first] = parsed.error.issues;
  if (first === undefined) throw complain([], 'not a configuration');
  const mistake = describeMistake(schema, value, first);
  throw complain(mistake.path, mistake.text, mistake.hint);
};
