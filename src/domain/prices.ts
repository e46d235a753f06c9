/**
 * What a model's tokens cost, and how an operator's price table is read. Pure. The invariant: a price that isn't known
 * is null, never zero; and where two readings are possible the dearer one counts.
 */
import { z } from 'zod';

const Usd = z.number().min(0).max(100_000);

/** USD per million tokens. */
export const Price = z.strictObject({
  input: Usd.describe('USD per million input tokens.'),
  output: Usd.describe('USD per million output tokens.'),
  cacheRead: Usd.optional().describe('Input tokens read from the provider’s cache; default: as `input`.'),
  cacheWrite: Usd.optional().describe('Input tokens written to its cache for minutes; default: 1.25 times `input`.'),
  cacheWriteHour: Usd.optional().describe('The same for an hour; default: twice `input`.'),
  long: z
    .strictObject({ overInputTokens: z.number().int().min(1), input: Usd, output: Usd })
    .optional()
    .describe('The whole request costs this where its input is longer; cache prices rise with `input`.'),
});
export type Price = z.infer<typeof Price>;

/** For what runs on this machine. */
export const FREE: Price = { input: 0, output: 0 };

/** A model’s name, or `<provider>/<model>`; `*` stands for any characters. */
export const PriceKey = z
  .string()
  .regex(/^[\x21-\x7e]{1,200}$/, 'a price belongs to <model> or <provider>/<model>; * stands for any characters');

/** Of one request. The cached ones are among the input tokens. */
export interface TokenUse {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cacheReadTokens: number;
  readonly cacheWriteTokens: number;
  readonly cacheWriteHourTokens: number;
}

/** What of a budget something takes. Money is counted in whole billionths of a dollar: sums stay exact. */
export interface Amount {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly nanoUsd: number;
}

export const NANO_USD_PER_USD = 1_000_000_000;
/** One USD per million tokens is so much for one. */
const NANO_USD_PER_TOKEN = 1_000;

const CACHE_WRITE_FACTOR = 1.25;
const CACHE_WRITE_HOUR_FACTOR = 2;

/** Rounded up to a whole billionth of a dollar. */
export const costNanoUsd = (price: Price, use: TokenUse): number => {
  const { input, output } =
    price.long !== undefined && use.inputTokens > price.long.overInputTokens ? price.long : price;
  const scale = price.input === 0 ? 1 : input / price.input;
  const cached = use.cacheReadTokens + use.cacheWriteTokens + use.cacheWriteHourTokens;
  const perMillion =
    Math.max(0, use.inputTokens - cached) * input +
    use.cacheReadTokens * (price.cacheRead ?? price.input) * scale +
    use.cacheWriteTokens * (price.cacheWrite ?? price.input * CACHE_WRITE_FACTOR) * scale +
    use.cacheWriteHourTokens * (price.cacheWriteHour ?? price.input * CACHE_WRITE_HOUR_FACTOR) * scale +
    use.outputTokens * output;
  // Without the cut, 0.1 + 0.2 would round up to a billionth more than there is.
  return Math.ceil(Number((perMillion * NANO_USD_PER_TOKEN).toFixed(3)));
};

const anthropic = (input: number, output: number, cacheRead = input / 10): Price => ({ input, output, cacheRead });
const openai = (input: number, output: number, cacheRead: number): Price => ({ input, output, cacheRead });

/**
 * Prices as the providers’ pages listed them, Anthropic’s in October 2026 and OpenAI’s in June 2026. They change without
 * notice: check them against https://claude.com/pricing and https://openai.com/api/pricing, and set `prices:` in
 * tierclaw.yaml where they differ. A model that isn’t here has no price until the operator gives it one.
 */
const SHIPPED: Readonly<Record<'anthropic' | 'openai-compatible', Readonly<Record<string, Price>>>> = {
  anthropic: {
    'claude-fable-5-1': anthropic(10, 50, 0.25),
    'claude-fable-5': anthropic(10, 50),
    'claude-opus-5-5': anthropic(4, 20, 0.2),
    'claude-opus-5': anthropic(5, 25),
    'claude-opus-4-8': anthropic(5, 25),
    'claude-opus-4-7': anthropic(5, 25),
    'claude-opus-4-6': anthropic(5, 25),
    'claude-opus-4-5': anthropic(5, 25),
    'claude-opus-4-1': anthropic(15, 75),
    'claude-opus-4-0': anthropic(15, 75),
    'claude-opus-4': anthropic(15, 75),
    'claude-sonnet-5-5': anthropic(2, 10, 0.1),
    'claude-sonnet-5': anthropic(2, 10),
    'claude-sonnet-4-6': anthropic(3, 15),
    'claude-sonnet-4-5': { ...anthropic(3, 15), long: { overInputTokens: 200_000, input: 6, output: 22.5 } },
    'claude-sonnet-4-0': { ...anthropic(3, 15), long: { overInputTokens: 200_000, input: 6, output: 22.5 } },
    'claude-sonnet-4': { ...anthropic(3, 15), long: { overInputTokens: 200_000, input: 6, output: 22.5 } },
    'claude-haiku-5-5': { ...anthropic(0.1, 0.5), long: { overInputTokens: 100_000, input: 0.5, output: 2.5 } },
    'claude-haiku-4-5': anthropic(1, 5),
    'claude-3-5-haiku': anthropic(0.8, 4),
    'claude-3-haiku': anthropic(0.25, 1.25, 0.03),
  },
  'openai-compatible': {
    'gpt-5.5': { ...openai(5, 30, 0.5), long: { overInputTokens: 272_000, input: 10, output: 45 } },
    'gpt-5.5-pro': openai(30, 180, 30),
    'gpt-5.4': { ...openai(2.5, 15, 0.25), long: { overInputTokens: 272_000, input: 5, output: 22.5 } },
    'gpt-5.4-mini': openai(0.75, 4.5, 0.075),
    'gpt-5.4-nano': openai(0.2, 1.25, 0.02),
    'gpt-5.2': openai(1.75, 14, 0.175),
    'gpt-5.1': openai(1.25, 10, 0.125),
    'gpt-5': openai(1.25, 10, 0.125),
    'gpt-5-mini': openai(0.25, 2, 0.025),
    'gpt-5-nano': openai(0.05, 0.4, 0.005),
    'gpt-4.1': openai(2, 8, 0.5),
    'gpt-4.1-mini': openai(0.4, 1.6, 0.1),
    'gpt-4.1-nano': openai(0.1, 0.4, 0.025),
    'gpt-4o': openai(2.5, 10, 1.25),
    'gpt-4o-mini': openai(0.15, 0.6, 0.075),
    o3: openai(2, 8, 0.5),
    'o4-mini': openai(1.1, 4.4, 0.275),
  },
};

/** A snapshot’s date or “the newest” behind a model’s name. */
const SNAPSHOT = /-(\d{8}|\d{4}-\d{2}-\d{2}|latest)$/;

const shippedPrice = ({ api, model }: PricedModel): Price | null => {
  const known = SHIPPED[api];
  const name = model.replace(SNAPSHOT, '');
  return Object.hasOwn(known, name) ? (known[name] ?? null) : null;
};

export interface PricedModel {
  readonly provider: string;
  readonly api: 'anthropic' | 'openai-compatible';
  readonly model: string;
}

const literal = (text: string): string => text.replace(/[.+?^${}()|[\]\\]/g, '\\$&');

const matches = (key: string, text: string): boolean =>
  new RegExp(`^${literal(key).replace(/\*+/g, '.*')}$`).test(text);

/** An exact key comes before one with a *, and of those the one that says more. */
const isMoreTelling = (a: string, b: string): number =>
  Number(a.includes('*')) - Number(b.includes('*')) || b.length - a.length;

/** The operator’s price where a key of theirs fits, else the shipped one; null: nobody knows. */
export const findPrice = (table: Readonly<Record<string, Price>>, priced: PricedModel): Price | null => {
  const names = [`${priced.provider}/${priced.model}`, priced.model];
  const [key] = Object.keys(table)
    .filter((one) => names.some((name) => matches(one, name)))
    .sort(isMoreTelling);
  return key === undefined ? shippedPrice(priced) : (table[key] ?? null);
};
