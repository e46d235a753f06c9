/**
 * A turn on a terminal: a progress line while nothing has come, the text as the model writes it, and every message that
 * was not already seen that way. What the model wrote is stripped of control sequences before it is shown.
 */

import type { TurnStep, TurnView } from './chat-turn.ts';
import type { Screen } from './context.ts';
import { createTerminalFilter, terminalLine, terminalText } from './terminal.ts';

const STEPS: Readonly<Record<TurnStep, string>> = {
  queued: 'waiting for its turn…',
  staged: 'starting container…',
  started: 'waiting for the agent…',
  thinking: 'thinking…',
};

/** Back to the first column, and the line erased. */
const ERASE_LINE = `\r${String.fromCharCode(0x1b)}[2K`;
const PROGRESS_CHARS_MAX = 70;

export interface ScreenView extends TurnView {
  /** Takes the progress line away and ends an open line. */
  finish(): void;
}

/** For people: everything as it happens. */
export const liveView = (screen: Screen, began: (invocation: string) => void): ScreenView => {
  const filter = createTerminalFilter();
  const state = { isProgressShown: false, streamed: '', isLineOpen: false };

  const clearProgress = (): void => {
    if (state.isProgressShown) screen.out(ERASE_LINE);
    state.isProgressShown = false;
  };
  const endLine = (): void => {
    if (state.isLineOpen) screen.out(`${filter.end()}\n`);
    state.isLineOpen = false;
  };
  const showProgress = (note: string): void => {
    endLine();
    clearProgress();
    screen.out(`⋯ ${terminalLine(note, PROGRESS_CHARS_MAX)}`);
    state.isProgressShown = true;
  };

  return {
    began,
    step: (step) => showProgress(STEPS[step]),
    progress: showProgress,
    postponed: (detail) => {
      clearProgress();
      screen.err(postponedLine(detail));
    },
    text: (delta) => {
      clearProgress();
      state.isLineOpen = true;
      state.streamed += delta;
      screen.out(filter.push(delta));
    },
    message: (text) => {
      clearProgress();
      endLine();
      const wasStreamed = state.streamed.trimEnd().endsWith(text.trim());
      if (!wasStreamed) screen.out(`${terminalText(text).trimEnd()}\n`);
      state.streamed = '';
    },
    finish: () => {
      clearProgress();
      endLine();
    },
  };
};

const DETAIL_CHARS_MAX = 500;
const postponedLine = (detail: string): string =>
  `⚠ not answered yet, trying again: ${terminalLine(detail, DETAIL_CHARS_MAX)}\n`;

/** For pipes and files: nothing meanwhile; where a person watches the error stream, a line per step goes there. */
export const quietView = (screen: Screen): ScreenView => {
  const remark = (note: string): void => {
    if (screen.showsProgress) screen.err(`⋯ ${terminalLine(note, PROGRESS_CHARS_MAX)}\n`);
  };
  return {
    began: () => undefined,
    step: (step) => remark(STEPS[step]),
    progress: remark,
    postponed: (detail) => screen.err(postponedLine(detail)),
    text: () => undefined,
    message: () => undefined,
    finish: () => undefined,
  };
};
