/** A runner as a child process in a directory of its own, with everything it wrote as parsed frames. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { execa } from 'execa';
import { encodeFrame, FRAME_BYTES_MAX, type HostFrame, RunnerFrame } from '../../src/protocol.ts';
import { type Reply, type StandIn, startStandIn } from './model-stand-in.ts';

const ENTRY = fileURLToPath(new URL('./runner-entry.ts', import.meta.url));

/** Bundles the test's entry as the product's is bundled; returns the file. */
export const bundleRunner = async (directory: string): Promise<string> => {
  const outfile = join(directory, 'runner.mjs');
  const banner = "import { createRequire as r } from 'node:module'; const require = r(import.meta.url);";
  await build({
    entryPoints: [ENTRY],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    banner: { js: banner },
    logLevel: 'warning',
  });
  return outfile;
};

export interface RunnerProcess {
  readonly directory: string;
  readonly provider: StandIn;
  readonly frames: RunnerFrame[];
  send(frame: HostFrame): void;
  /** The host goes away. */
  endInput(): void;
  /** Puts the database in place, which the first tool call waits for. */
  publish(): Promise<void>;
  /** The next frame of that type, also one that has come already. */
  until(type: RunnerFrame['type']): Promise<RunnerFrame>;
  readonly exited: Promise<number | undefined>;
  stderr(): string;
  dispose(): Promise<void>;
}

const layOut = async (): Promise<string> => {
  const directory = await mkdtemp(join(tmpdir(), 'tierclaw-runner-'));
  for (const part of ['group', 'ipc/messages', 'ipc/input']) await mkdir(join(directory, part), { recursive: true });
  return directory;
};

/** `published`: the database is there from the start. */
export const startRunner = async (
  bundle: string,
  replies: readonly Reply[],
  published = true,
): Promise<RunnerProcess> => {
  const directory = await layOut();
  const provider = await startStandIn(join(directory, 'gateway.sock'), replies);
  const publish = (): Promise<void> => writeFile(join(directory, 'messages.db'), '');
  if (published) await publish();
  const child = execa(process.execPath, [bundle, directory], {
    reject: false,
    buffer: { stdout: false },
    stdin: 'pipe',
  });
  const frames: RunnerFrame[] = [];
  const ended = readLines(child.stdout, frames);
  const exited = Promise.all([child, ended]).then(([{ exitCode }]) => exitCode);
  let stderr = '';
  child.stderr.on('data', (chunk) => {
    stderr += String(chunk);
  });
  return {
    directory,
    provider,
    frames,
    publish,
    exited,
    send: (frame) => void child.stdin.write(encodeFrame(frame)),
    endInput: () => void child.stdin.end(),
    until: (type) => waitFor(() => frames.find((frame) => frame.type === type)),
    stderr: () => stderr,
    dispose: async () => {
      child.kill('SIGKILL');
      await provider.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
};

/** Every line has to be a frame of the protocol, and not too long. */
const readLines = async (stdout: NodeJS.ReadableStream, frames: RunnerFrame[]): Promise<void> => {
  let rest = '';
  for await (const chunk of stdout.setEncoding('utf8')) {
    const lines = `${rest}${chunk}`.split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      if (Buffer.byteLength(line) >= FRAME_BYTES_MAX) throw new Error('a frame of more than 1 MiB');
      frames.push(RunnerFrame.parse(JSON.parse(line)));
    }
  }
  if (rest !== '') throw new Error(`half a frame: ${rest}`);
};

const waitFor = async <T>(look: () => T | undefined): Promise<T> => {
  const deadline = Date.now() + 10_000;
  for (let found = look(); ; found = look()) {
    if (found !== undefined) return found;
    if (Date.now() > deadline) throw new Error('it did not come within 10 s');
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
};
