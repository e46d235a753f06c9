/**
 * What a request's body may ask for: a model of this turn, tokens within the cap, nothing that goes round a cap. Pure.
 * The body that is sent is put together anew from what was checked, so no key can mean two things.
 */
import { z } from 'zod';
import type { BodyScan, Member } from './body-scan.ts';
import type { GatewayGrant } from './gateway.ts';
import { type Endpoint, type Refusal, refusal } from './rules.ts';

export interface BodyQuestion {
  readonly endpoint: Endpoint;
  readonly bytes: Buffer;
  readonly scan: BodyScan;
  readonly grant: Pick<GatewayGrant, 'models' | 'caps'>;
}

export interface AcceptedBody {
  readonly allow: true;
  readonly bytes: Buffer;
  readonly model: string;
  /** The longest answer that it asks for; 0 where there is none to pay for. */
  readonly maxTokens: number;
}

/** Parsed and checked below; a key that only looks like one of these (`Model`) is refused: some servers ignore case. */
const CHECKED: ReadonlyMap<string, number> = new Map([
  ['model', 1024],
  ['max_tokens', 64],
  ['max_completion_tokens', 64],
  ['n', 64],
  ['stream', 64],
  ['stream_options', 1024],
  ['tools', 512 * 1024],
]);

/**
 * Other names of one provider or another for the model, the token cap or the price; access to the network; state that
 * lives at the provider, where the chats of a home would meet.
 */
const NEVER: ReadonlySet<string> = new Set([
  'models',
  'fallbacks',
  'fallback_credit_token',
  'best_of',
  'n_predict',
  'num_predict',
  'max_new_tokens',
  'max_output_tokens',
  'speed',
  'service_tier',
  'inference_geo',
  'billing_policy',
  'workspace_id',
  'user_profile_id',
  'thread',
  'container',
  'mcp_servers',
  'plugins',
  'web_search_options',
]);

/** Tools that run where the caller is. One that the provider runs (web fetch, code) goes round egress and the caps. */
const CALLERS_TOOL =
  /^(custom|function|(bash|text_editor|computer|computer_toolset|browser_toolset|memory)_\d{8}|tool_search_tool_[a-z0-9_]{1,40})$/;

const Tools = z.array(z.looseObject({ type: z.string().optional() })).nullable();
const StreamOptions = z.record(z.string(), z.unknown()).nullish();

const isTokens = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) > 0;

/** As the most careless reader would compare it. */
const fold = (key: string): string => key.toUpperCase().toLowerCase();

type Fields = ReadonlyMap<string, unknown>;
type Values = ReadonlyMap<string, Buffer>;

const parseJson = (bytes: Buffer): unknown => {
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch {
    // JSON.parse tells the same thing, with a piece of the text in it.
    return undefined;
  }
};

const keyProblem = (key: unknown, seen: Values): Refusal | undefined => {
  if (typeof key !== 'string') return refusal(400, 'the body isn’t valid JSON: a broken key');
  const name = key.slice(0, 60);
  if (seen.has(key)) return refusal(400, `the body has the key "${name}" twice`);
  if (NEVER.has(fold(key))) return refusal(403, `"${name}" isn’t let through: it goes round this turn’s caps`);
  if (CHECKED.has(fold(key)) && fold(key) !== key) return refusal(400, `"${name}": write it as "${fold(key)}"`);
  return undefined;
};

/** The top-level members by key, values still as bytes. */
const readMembers = (bytes: Buffer, members: readonly Member[]): Values | Refusal => {
  const values = new Map<string, Buffer>();
  for (const { keyStart, keyEnd, valueStart, valueEnd } of members) {
    const key = keyEnd - keyStart > 1024 ? undefined : parseJson(bytes.subarray(keyStart, keyEnd));
    const problem = keyProblem(key, values);
    if (problem !== undefined) return problem;
    values.set(String(key), bytes.subarray(valueStart, valueEnd));
  }
  return values;
};

/** The values of the checked keys; null counts as absent, as it does for the providers. */
const readChecked = (values: Values): Fields | Refusal => {
  const fields = new Map<string, unknown>();
  for (const [key, bytesMax] of CHECKED) {
    const bytes = values.get(key);
    if (bytes === undefined) continue;
    if (bytes.length > bytesMax) return refusal(400, `"${key}" is longer than ${bytesMax} bytes`);
    const value = parseJson(bytes);
    if (value === undefined) return refusal(400, `the body isn’t valid JSON: the value of "${key}"`);
    if (value !== null) fields.set(key, value);
  }
  return fields;
};

const modelProblem = (fields: Fields, models: readonly string[]): Refusal | undefined => {
  const model = fields.get('model');
  if (typeof model !== 'string') return refusal(400, '"model" must be there, as a string');
  return models.includes(model)
    ? undefined
    : refusal(403, `the model "${model.slice(0, 100)}" isn’t one of this turn’s: ${models.join(', ')}`);
};

const tokensProblem = (fields: Fields, key: string, cap: number): Refusal | undefined => {
  if (!fields.has(key)) return undefined;
  const tokens = fields.get(key);
  if (!isTokens(tokens)) return refusal(400, `"${key}" must be a positive integer`);
  return tokens <= cap ? undefined : refusal(403, `"${key}" is ${tokens}; this turn may ask for ${cap} at most`);
};

const toolsProblem = (fields: Fields): Refusal | undefined => {
  if (!fields.has('tools')) return undefined;
  const tools = Tools.safeParse(fields.get('tools'));
  if (!tools.success) return refusal(400, '"tools" must be an array of objects');
  const foreign = (tools.data ?? []).find(({ type }) => type !== undefined && !CALLERS_TOOL.test(type));
  return foreign === undefined
    ? undefined
    : refusal(
        403,
        `a tool of type "${String(foreign.type).slice(0, 60)}" isn’t let through: the provider would run it`,
      );
};

const shapeProblem = (fields: Fields): Refusal | undefined => {
  if (fields.has('n') && fields.get('n') !== 1) return refusal(403, '"n" may only be 1');
  if (fields.has('stream') && typeof fields.get('stream') !== 'boolean') {
    return refusal(400, '"stream" must be true or false');
  }
  return !fields.has('stream_options') || StreamOptions.safeParse(fields.get('stream_options')).success
    ? undefined
    : refusal(400, '"stream_options" must be an object');
};

const missingTokens = (endpoint: Endpoint, fields: Fields): Refusal | undefined =>
  endpoint === 'messages' && !fields.has('max_tokens') ? refusal(400, '"max_tokens" must be there') : undefined;

const findProblem = ({ endpoint, grant }: BodyQuestion, fields: Fields): Refusal | undefined =>
  modelProblem(fields, grant.models) ??
  missingTokens(endpoint, fields) ??
  tokensProblem(fields, 'max_tokens', grant.caps.maxTokens) ??
  tokensProblem(fields, 'max_completion_tokens', grant.caps.maxTokens) ??
  shapeProblem(fields) ??
  toolsProblem(fields);

/** What we set where the client left it open: the token cap, and that a streamed answer reports its usage. */
const additions = (endpoint: Endpoint, fields: Fields, cap: number): Fields => {
  const added = new Map<string, unknown>();
  if (endpoint !== 'chat') return added;
  if (!fields.has('max_tokens') && !fields.has('max_completion_tokens')) added.set('max_tokens', cap);
  if (fields.get('stream') === true) {
    added.set('stream_options', { ...StreamOptions.parse(fields.get('stream_options')), include_usage: true });
  }
  return added;
};

const compose = (values: Values, fields: Fields): Buffer => {
  const pieces: Buffer[] = [];
  let text = '{';
  for (const [key, bytes] of values) {
    // A checked key that was null is left out, the others are written as they were understood.
    if (CHECKED.has(key) && !fields.has(key)) continue;
    text += `${text === '{' ? '' : ','}${JSON.stringify(key)}:`;
    if (fields.has(key)) {
      text += JSON.stringify(fields.get(key));
      continue;
    }
    pieces.push(Buffer.from(text), bytes);
    text = '';
  }
  return Buffer.concat([...pieces, Buffer.from(`${text}}`)]);
};

/** Where both keys are there, the provider takes one of them. */
const longestAnswer = (endpoint: Endpoint, fields: Fields): number => {
  if (endpoint === 'count-tokens') return 0;
  const asked = ['max_tokens', 'max_completion_tokens'].map((key) => fields.get(key));
  return Math.max(0, ...asked.filter(isTokens));
};

/** Decides about a body, and gives the bytes to send. */
export const judgeBody = (question: BodyQuestion): AcceptedBody | Refusal => {
  const values = readMembers(question.bytes, question.scan.members);
  if ('allow' in values) return values;
  const fields = readChecked(values);
  if ('allow' in fields) return fields;
  const problem = findProblem(question, fields);
  if (problem !== undefined) return problem;
  const added = additions(question.endpoint, fields, question.grant.caps.maxTokens);
  const absent = [...added.keys()].map((key): [string, Buffer] => [key, Buffer.alloc(0)]);
  const all = new Map([...values, ...absent]);
  const set = new Map([...fields, ...added]);
  const maxTokens = longestAnswer(question.endpoint, set);
  return { allow: true, bytes: compose(all, set), model: String(set.get('model')), maxTokens };
};
