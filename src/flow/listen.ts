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
import { createFrameReader } from './frames.ts';

/** A turn's own part of the transcript: beyond it the turn goes on, but is kept no further. */
const TRANSCRIPT_ENTRIES_MAX = 1_000;
const TRANSCRIPT_CHARS_MAX = 4_000_000;
/** Noise and stderr lines that are logged in one turn. */
const NOISE_LINES_MAX = 200;

export interface ListenerOptions {
  readonly logger: Logger;
  readonly news: (news: TurnNews) => void;
  /** Keeps one tool call; false: this turn has its fill, and no more are kept. */
  readonly keep: (receipt: Receipt) => boolean;
  /** Files of `input/` that the runner says it took in. */
  readonly acknowledged: (ids: readonly string[]) => void;
  /** The first call counts. */
  readonly end: (ending: Ending) => void;
}

export interface Listener {
  readonly sink: OutputSink;
  /** What has been streamed so far, without what is internal; null: nothing. */
  streamed(): string | null;
  transcript(): readonly TranscriptEntry[];
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

/** What the agent says while it says it, without what is internal. */
const createSpeech = (news: ListenerOptions['news']) => {
  const stripper = createInternalStripper();
  let said = '';
  return {
    push: (delta: string): void => {
      const shown = stripper.push(delta);
      if (shown === '') return;
      said += shown;
      news({ kind: 'text', delta: shown });
    },
    soFar: (): string | null => visible(said),
  };
};

export const createListener = ({ logger, news, keep, acknowledged, end }: ListenerOptions): Listener => {
  const transcript = createTranscript();
  const noise = createNoiseLog(logger);
  const speech = createSpeech(news);
  const receipt = createReceipts({ logger, keep });

  const onFrame: { readonly [T in RunnerFrame['type']]: (frame: Extract<RunnerFrame, { type: T }>) => void } = {
    ready: () => {},
    ack: ({ ids }) => acknowledged(ids),
    progress: ({ note }) => news({ kind: 'progress', note }),
    text: ({ delta }) => speech.push(delta),
    transcript: ({ entries }) => transcript.add(entries),
    usage: (frame) => logger.debug({ claimed: frame }, 'usage as the runner counts it'),
    receipt,
    result: ({ text }) => end({ reason: 'completed', detail: null, cause: null, text: visible(text) }),
    error: (frame) => end(endingOfError(frame, speech.soFar())),
  };

  const read = createFrameReader({
    // The type of a frame and the table's row are one; TypeScript can't follow that through an index.
    frame: (frame) => (onFrame[frame.type] as (frame: RunnerFrame) => void)(frame),
    noise: (line) => noise('stdout', line),
    overflow: (detail) => end({ reason: 'output', detail, cause: null, text: speech.soFar() }),
  });

  return {
    sink: { stdout: read, stderr: (chunk) => noise('stderr', chunk.subarray(0, 2_000).toString('utf8')) },
    streamed: speech.soFar,
    transcript: transcript.entries,
  };
};
