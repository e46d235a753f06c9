/**
 * Reads from a passing answer what the provider says was used. It looks on, holds a bounded piece of text, and never
 * delays or changes the stream.
 */
import { z } from 'zod';

export interface Usage {
  readonly inputTokens: number;
  readonly outputTokens: number;
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

const Count = z.number().int().nonnegative().nullish();
const Counts = z
  .object({
    input_tokens: Count,
    cache_creation_input_tokens: Count,
    cache_read_input_tokens: Count,
    output_tokens: Count,
    prompt_tokens: Count,
    completion_tokens: Count,
  })
  .nullish();

/** A document or an event of either API; `message` is that of Anthropic's `message_start`. */
const Reported = z.object({ usage: Counts, message: z.object({ usage: Counts }).nullish().catch(null) });

const NOTHING: Usage = { inputTokens: 0, outputTokens: 0 };

const toUsage = (counts: z.infer<typeof Counts>): Usage => ({
  inputTokens:
    (counts?.input_tokens ?? counts?.prompt_tokens ?? 0) +
    (counts?.cache_creation_input_tokens ?? 0) +
    (counts?.cache_read_input_tokens ?? 0),
  outputTokens: counts?.output_tokens ?? counts?.completion_tokens ?? 0,
});

/** Counts of a stream are running totals, and a later event may leave one out. */
const larger = (a: Usage, b: Usage): Usage => ({
  inputTokens: Math.max(a.inputTokens, b.inputTokens),
  outputTokens: Math.max(a.outputTokens, b.outputTokens),
});

const readReport = (json: string): Usage => {
  if (!json.includes('"usage"')) return NOTHING;
  try {
    const report = Reported.safeParse(JSON.parse(json));
    return report.success ? larger(toUsage(report.data.usage), toUsage(report.data.message?.usage)) : NOTHING;
  } catch {
    // Not JSON: the client will say so; there is nothing to count.
    return NOTHING;
  }
};

const streamTap = (): UsageTap => {
  const state = { line: '', skipping: false, seen: NOTHING };
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
    usage: () => state.seen,
  };
};

const documentTap = (): UsageTap => {
  const state = { pieces: [] as string[], size: 0 };
  return {
    push: (chunk) => {
      state.size += chunk.length;
      if (state.size <= DOCUMENT_CHARS_MAX) state.pieces.push(Buffer.from(chunk).toString('latin1'));
    },
    usage: () => (state.size <= DOCUMENT_CHARS_MAX ? readReport(state.pieces.join('')) : NOTHING),
  };
};

/** A tap for one answer. */
export const createUsageTap = (streamed: boolean): UsageTap => (streamed ? streamTap() : documentTap());
