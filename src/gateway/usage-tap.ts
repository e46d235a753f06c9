/**
 * Reads from a passing answer what the provider says was used. It looks on, holds a bounded piece of text, and never
 * delays or changes the stream.
 */
import { z } from 'zod';
import type { TokenUse } from '../domain/prices.ts';

export interface Usage extends TokenUse {
  /** 0: nothing was reported yet; 1: what the answer began with (Anthropic's `message_start`); 2: what it came to. */
  readonly report: number;
  /** Bytes of the answer that have passed. */
  readonly bytes: number;
}

export interface UsageTap {
  push(chunk: Uint8Array): void;
  /** What was seen so far; zeros where the provider reported nothing. */
  usage(): Usage;
}

/** An event with usage is a few hundred bytes; a longer line is content. */
const LINE_CHARS_MAX = 256 * 1024;
/** A whole answer that isn't streamed: 80,000 tokens are about 400 kB. */
const DOCUMENT_CHARS_MAX = 4 * 1024 * 1024;

/** No request uses as much; sums of such numbers stay exact. */
const COUNT_MAX = 1_000_000_000;
const Count = z.number().int().nonnegative().max(COUNT_MAX).nullish();
const Counts = z
  .object({
    input_tokens: Count,
    cache_creation_input_tokens: Count,
    cache_read_input_tokens: Count,
    cache_creation: z.object({ ephemeral_1h_input_tokens: Count }).nullish().catch(null),
    output_tokens: Count,
    prompt_tokens: Count,
    prompt_tokens_details: z.object({ cached_tokens: Count }).nullish().catch(null),
    completion_tokens: Count,
  })
  .nullish();
type Counts = NonNullable<z.infer<typeof Counts>>;

/** A document or an event of either API; `message` is that of Anthropic's `message_start`. */
const Reported = z.object({ usage: Counts, message: z.object({ usage: Counts }).nullish().catch(null) });

type Report = Omit<Usage, 'bytes'>;

const NOTHING: Report = {
  inputTokens: 0,
  outputTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  cacheWriteHourTokens: 0,
  report: 0,
};

/** Anthropic counts what came from or went to the cache apart, OpenAI counts it in. */
const inputTokens = (counts: Counts): number =>
  (counts.input_tokens ?? counts.prompt_tokens ?? 0) +
  (counts.cache_creation_input_tokens ?? 0) +
  (counts.cache_read_input_tokens ?? 0);

const toReport = (counts: Counts | null | undefined, report: Report['report']): Report => {
  if (counts === null || counts === undefined) return NOTHING;
  const hour = counts.cache_creation?.ephemeral_1h_input_tokens ?? 0;
  return {
    inputTokens: inputTokens(counts),
    outputTokens: counts.output_tokens ?? counts.completion_tokens ?? 0,
    cacheReadTokens: counts.cache_read_input_tokens ?? counts.prompt_tokens_details?.cached_tokens ?? 0,
    cacheWriteTokens: Math.max(0, (counts.cache_creation_input_tokens ?? 0) - hour),
    cacheWriteHourTokens: hour,
    report,
  };
};

/** Counts of a stream are running totals, and a later event may leave one out. */
const larger = (a: Report, b: Report): Report => ({
  inputTokens: Math.max(a.inputTokens, b.inputTokens),
  outputTokens: Math.max(a.outputTokens, b.outputTokens),
  cacheReadTokens: Math.max(a.cacheReadTokens, b.cacheReadTokens),
  cacheWriteTokens: Math.max(a.cacheWriteTokens, b.cacheWriteTokens),
  cacheWriteHourTokens: Math.max(a.cacheWriteHourTokens, b.cacheWriteHourTokens),
  report: Math.max(a.report, b.report),
});

const readReport = (json: string): Report => {
  if (!json.includes('"usage"')) return NOTHING;
  try {
    const report = Reported.safeParse(JSON.parse(json));
    return report.success ? larger(toReport(report.data.usage, 2), toReport(report.data.message?.usage, 1)) : NOTHING;
  } catch {
    // Not JSON: the client will say so; there is nothing to count.
    return NOTHING;
  }
};

const streamTap = (): UsageTap => {
  const state = { line: '', skipping: false, seen: NOTHING, bytes: 0 };
  const take = (text: string): void => {
    if (!state.skipping) state.line += text;
    if (state.line.length <= LINE_CHARS_MAX) return;
    state.skipping = true;
    state.line = '';
  };
  const endLine = (): void => {
    if (state.line.startsWith('data:')) state.seen = larger(state.seen, readReport(state.line.slice(5)));
    state.line = '';
    state.skipping = false;
  };
  return {
    push: (chunk) => {
      state.bytes += chunk.length;
      // Latin-1 keeps every byte apart, so no character is split; the numbers are ASCII anyway.
      const [first = '', ...rest] = Buffer.from(chunk)
        .toString('latin1')
        .split(/\r\n|\n|\r/);
      take(first);
      for (const text of rest) {
        endLine();
        take(text);
      }
    },
    usage: () => ({ ...state.seen, bytes: state.bytes }),
  };
};

const documentTap = (): UsageTap => {
  const state = { pieces: [] as string[], size: 0 };
  return {
    push: (chunk) => {
      state.size += chunk.length;
      if (state.size <= DOCUMENT_CHARS_MAX) state.pieces.push(Buffer.from(chunk).toString('latin1'));
    },
    usage: () => {
      const seen = state.size <= DOCUMENT_CHARS_MAX ? readReport(state.pieces.join('')) : NOTHING;
      return { ...seen, bytes: state.size };
    },
  };
};

/** A tap for one answer. */
export const createUsageTap = (streamed: boolean): UsageTap => (streamed ? streamTap() : documentTap());
