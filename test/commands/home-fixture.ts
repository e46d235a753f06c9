/** A home of its own per test, and the command line run in this process against a screen that remembers. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { onTestFinished } from 'vitest';
import type { CommandContext } from '../../src/commands/context.ts';
import { parseCommandLine } from '../../src/commands/index.ts';
import { type Home, homeAt } from '../../src/home.ts';

/** An empty directory that is gone after the test. */
export const temporaryHome = async (): Promise<Home> => {
  const directory = await mkdtemp(join(tmpdir(), 'tierclaw-home-'));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  return homeAt(directory);
};

export interface TestScreen {
  readonly input: PassThrough;
  readonly interrupt: () => void;
  readonly context: CommandContext;
  out(): string;
  err(): string;
}

export const testScreen = (home: Home, { json = false, isInteractive = false } = {}): TestScreen => {
  const written = { out: '', err: '' };
  const input = new PassThrough();
  const output = new PassThrough();
  output.on('data', (chunk: Buffer) => {
    written.out += chunk.toString('utf8');
  });
  const controller = new AbortController();
  const screen = {
    out: (text: string) => {
      written.out += text;
    },
    err: (text: string) => {
      written.err += text;
    },
    input,
    output,
    isInteractive,
    showsProgress: false,
  };
  return {
    input,
    interrupt: () => controller.abort(),
    context: { home, json, screen, interruption: () => controller.signal },
    out: () => written.out,
    err: () => written.err,
  };
};

/** The result as text and data, and what was printed meanwhile. Rejects as the command does. */
export const run = async (home: Home, words: readonly string[], screen = testScreen(home)) => {
  const parsed = await parseCommandLine(words);
  if (parsed.kind !== 'run') throw new Error(`not a command: ${words.join(' ')}`);
  const result = await parsed.run({ ...screen.context, json: parsed.json });
  const isResult = typeof result === 'object' && result !== null;
  return {
    text: isResult ? result.text : screen.out(),
    data: isResult ? result.data : null,
    status: typeof result === 'number' ? result : ((isResult ? result.status : 0) ?? 0),
    err: screen.err(),
  };
};
