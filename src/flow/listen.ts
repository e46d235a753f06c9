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

export const createListener = ({ logger, news, end }: ListenerOptions): Listener => {
  const transcript = createTranscript();
  const noise = createNoiseLog(logger);
  const stripper = createInternalStripper();
  let streamed = '';

  const onText = (delta: string): void => {
    const shown = stripper.push(delta);
    if (shown === '') return;
    streamed += shown;
    news({ kind: 'text', delta: shown });
  };

  const soFar = (): string | null => visible(streamed);

  const onFrame = (frame: RunnerFrame): void => {
    switch (frame.type) {
      case 'ready':
      case 'ack':
        break;
      case 'progress':
        news({ kind: 'progress', note: frame.note });
        break;
      case 'text':
        onText(frame.delta);
        break;
      case 'transcript':
        transcript.add(frame.entries);
        break;
      case 'usage':
        logger.debug({ claimed: frame }, 'usage as the runner counts it');
        break;
      case 'receipt':
        logger.info({ receipt: { ...frame, tool: forLog(frame.tool, 100) } }, 'tool call');
        break;
      case 'result':
        end({ reason: 'completed', detail: null, cause: null, text: visible(frame.text) });
        break;
      case 'error':
        end(endingOfError(frame, soFar()));
        break;
      default:
        frame satisfies never;
    }
  };

  const read = createFrameReader({
    frame: onFrame,
    noise: (line) => noise('stdout', line),
    overflow: (detail) => end({ reason: 'output', detail, cause: null, text: soFar() }),
  });

  return {
    sink: { stdout: read, stderr: (chunk) => noise('stderr', chunk.subarray(0, 2_000).toString('utf8')) },
    streamed: soFar,
    transcript: transcript.entries,
  };
};
