/**
 * Listens to one container: frames become news, a transcript and an ending. All of it is a claim of the container's;
 * it can only speak about its own turn.
 */
import type { Logger } from 'pino';
import type { TurnNews } from '../channels/channel.ts';
import { createInternalStripper, stripInternal } from '../domain/internal-text.ts';
import { forLog } from '../logger.ts';
import type { RunnerFrame, TranscriptEntry } from '../protocol.ts';
import type { OutputSink } from '../runtimes/runtime.ts';
import type { Receipt } from '../store/receipts.ts';
import { type Ending, endingOfError } from './ending.ts';
import { createFrameReader, TURN_OUTPUT_BYTES_MAX } from './frames.ts';
import { createPace, type Pace } from './pace.ts';
import { createPacedReader } from './paced-reader.ts';
import { cleaned, createTextFilter, type Redaction } from './redaction.ts';

/** A turn's own part of the transcript: beyond it the turn goes on, but is kept no further. */
const TRANSCRIPT_ENTRIES_MAX = 1_000;
const TRANSCRIPT_CHARS_MAX = 4_000_000;
/** Noise and stderr lines that are logged in one turn. */
const NOISE_LINES_MAX = 200;
/** What one turn may say while it says it, in UTF-16 units: all of it becomes one message when the turn breaks off. */
export const SPEECH_CHARS_MAX = 1_000_000;
/** Of an error frame's message. */
const DETAIL_CHARS_MAX = 1_000;

export interface ListenerOptions {
  readonly logger: Logger;
  readonly secrets: Redaction;
  readonly news: (news: TurnNews) => void;
  /** Keeps one tool call; false: this turn has its fill, and no more are kept. */
  readonly keep: (receipt: Receipt) => boolean;
  /** Files of `input/` that the runner says it took in. */
  readonly acknowledged: (ids: readonly string[]) => void;
  /** The first call counts. */
  readonly end: (ending: Ending) => void;
  /** Shared by all turns; default: one of its own. */
  readonly pace?: Pace;
}

export interface Listener {
  readonly sink: OutputSink;
  /** What has been streamed so far, without what is internal; null: nothing. */
  streamed(): string | null;
  transcript(): readonly TranscriptEntry[];
  /** All that has come up to now has been read. Never rejects. */
  settled(): Promise<void>;
  /** What waits to be read, and what comes, is thrown away. */
  discard(): void;
}

const visible = (text: string): string | null => {
  const shown = stripInternal(text).trim();
  return shown === '' ? null : shown;
};

const createTranscript = () => {
  const entries: TranscriptEntry[] = [];
  let chars = 0;
  let full = false;
  return {
    entries: (): readonly TranscriptEntry[] => entries,
    add: (more: readonly TranscriptEntry[]): void => {
      chars += JSON.stringify(more).length;
      full ||= chars > TRANSCRIPT_CHARS_MAX || entries.length + more.length > TRANSCRIPT_ENTRIES_MAX;
      if (!full) entries.push(...more);
    },
  };
};

const createNoiseLog = (logger: Logger) => {
  let lines = 0;
  return (stream: string, text: string): void => {
    lines += 1;
    if (lines <= NOISE_LINES_MAX) logger.debug({ stream, text: forLog(text, 500) }, 'from the container');
  };
};

/** Tool calls are kept and logged until one isn't kept any more: a container can print far more than anybody reads. */
const createReceipts = ({ logger, keep }: Pick<ListenerOptions, 'logger' | 'keep'>) => {
  let open = true;
  return ({ tool, argumentsDigest, outcome }: Receipt): void => {
    if (!open) return;
    const receipt = { tool: forLog(tool, 100), argumentsDigest, outcome };
    try {
      open = keep(receipt);
      logger.info({ receipt }, open ? 'tool call' : 'tool call; no more of this turn’s are kept');
    } catch (err) {
      // A full disk must not end the turn from inside its own output; the log may still have room.
      open = false;
      logger.error({ err, receipt }, 'tool calls of this turn can’t be kept');
    }
  };
};

/** What the agent says while it says it, without what is internal and without secrets. */
const createSpeech = ({ news, secrets }: ListenerOptions, overflow: (detail: string) => void) => {
  const stripper = createInternalStripper();
  const filter = createTextFilter(secrets);
  let said = '';
  const say = (text: string): void => {
    const shown = text.slice(0, SPEECH_CHARS_MAX - said.length);
    if (shown === '') return;
    said += shown;
    news({ kind: 'text', delta: shown });
  };
  return {
    push: (delta: string): void => {
      if (said.length >= SPEECH_CHARS_MAX) return void overflow(`more than ${SPEECH_CHARS_MAX} characters of text`);
      say(filter.push(stripper.push(delta)));
    },
    /** Nothing more comes: what might have been the beginning of a secret is said. */
    finish: (): void => say(filter.end()),
    soFar: (): string | null => visible(said),
  };
};

/** Nothing on stderr is acted on, but it costs what stdout costs. */
const createErrorStream = (noise: (stream: string, text: string) => void, overflow: (detail: string) => void) => {
  let bytes = 0;
  return (chunk: Buffer): void => {
    bytes += chunk.length;
    if (bytes > TURN_OUTPUT_BYTES_MAX) overflow(`more than ${TURN_OUTPUT_BYTES_MAX} bytes on stderr`);
    else noise('stderr', chunk.subarray(0, 2_000).toString('utf8'));
  };
};

export const createListener = (options: ListenerOptions): Listener => {
  const { logger, secrets, news, keep, acknowledged, end } = options;
  const transcript = createTranscript();
  const noise = createNoiseLog(logger);
  let over = false;
  const overflow = (detail: string): void => {
    // Once: what was said is long by then, and the container goes on until it is gone.
    if (!over) end({ reason: 'output', detail, cause: null, text: speech.soFar() });
    over = true;
  };
  const speech = createSpeech(options, overflow);
  const receipt = createReceipts({ logger, keep });

  const onFrame: { readonly [T in RunnerFrame['type']]: (frame: Extract<RunnerFrame, { type: T }>) => void } = {
    ready: () => {},
    ack: ({ ids }) => acknowledged(ids),
    progress: ({ note }) => news({ kind: 'progress', note: secrets.redact(note) }),
    text: ({ delta }) => speech.push(delta),
    transcript: ({ entries }) => transcript.add(cleaned(entries, secrets)),
    usage: (frame) => logger.debug({ claimed: frame }, 'usage as the runner counts it'),
    receipt: (frame) => receipt(cleaned(frame, secrets)),
    result: ({ text }) => {
      speech.finish();
      end({ reason: 'completed', detail: null, cause: null, text: visible(text) });
    },
    error: (frame) => {
      const message = forLog(secrets.redact(frame.message), DETAIL_CHARS_MAX);
      end(endingOfError({ ...frame, message }, speech.soFar()));
    },
  };

  const read = createFrameReader({
    // The type of a frame and the table's row are one; TypeScript can't follow that through an index.
    frame: (frame) => (onFrame[frame.type] as (frame: RunnerFrame) => void)(frame),
    noise: (line) => noise('stdout', line),
    overflow,
  });

  const { pace = createPace() } = options;
  const reader = createPacedReader({ pace, read, overflow, clock: () => performance.now() });
  return {
    sink: { stdout: (chunk) => reader.push(chunk), stderr: createErrorStream(noise, overflow) },
    streamed: speech.soFar,
    transcript: transcript.entries,
    settled: () => reader.settled(),
    discard: () => reader.discard(),
  };
};
