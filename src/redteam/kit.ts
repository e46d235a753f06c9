/** What a probe's attempt is given in the container. Everything it starts ends within its time, with bounded output. */
import { execFile } from 'node:child_process';
import { connect } from 'node:net';
import { CANARIES, type Canary, type Kit, type Targets } from './probe.ts';

const TIMEOUT_MS = 10_000;
const OUTPUT_BYTES_MAX = 1024 * 1024;

interface Run {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

const run = (file: string, words: readonly string[], timeoutMs: number): Promise<Run> =>
  new Promise((resolve) => {
    const options = { timeout: timeoutMs, killSignal: 'SIGKILL' as const, maxBuffer: OUTPUT_BYTES_MAX };
    execFile(file, [...words], options, (error, stdout, stderr) => {
      const code = error === null ? 0 : error.code;
      resolve({ status: typeof code === 'number' ? code : null, stdout, stderr });
    });
  });

/** The last line says what went wrong; a traceback's other lines are ours. */
const lastLine = (text: string): string => text.trim().split('\n').at(-1) ?? '';

const python = async (source: string, timeoutMs = TIMEOUT_MS): Promise<string> => {
  const { status, stdout, stderr } = await run('/usr/bin/python3', ['-c', source], timeoutMs);
  return status === 0 ? stdout.trim() : `error: ${lastLine(stderr) || lastLine(stdout) || `status ${status}`}`;
};

const bash = async (source: string, timeoutMs = TIMEOUT_MS): Promise<{ status: number | null; output: string }> => {
  const { status, stdout } = await run('/bin/bash', ['-c', `exec 2>&1\n${source}`], timeoutMs);
  return { status, output: stdout };
};

/** As it is planted; the pattern itself doesn't match. */
const PLANTED = /tc-canary-([a-z-]+)-[0-9a-f]{24}/g;

const isCanary = (name: string): name is Canary => CANARIES.some((canary) => canary === name);

const canariesIn = (text: string | Uint8Array): readonly Canary[] => {
  const searched = typeof text === 'string' ? text : Buffer.from(text).toString('latin1');
  const found = [...searched.matchAll(PLANTED)].map(([, name = '']) => name);
  return [...new Set(found)].filter(isCanary);
};

const SILENCE_MS = 5_000;
const ANSWER_BYTES_MAX = 256 * 1024;

/** Raw, so that a request may be as malformed as it likes. */
const exchangeAt =
  (port: number) =>
  (request: string, silenceMs = SILENCE_MS): Promise<string> =>
    new Promise((resolve) => {
      const chunks: Buffer[] = [];
      const socket = connect({ host: '127.0.0.1', port, timeout: silenceMs });
      const finish = (): void => {
        socket.destroy();
        resolve(Buffer.concat(chunks).toString('latin1').slice(0, ANSWER_BYTES_MAX));
      };
      for (const end of ['error', 'close', 'timeout']) socket.once(end, finish);
      socket.on('data', (chunk: Buffer) => chunks.push(chunk));
      socket.write(request, 'latin1');
    });

/** The relay of every turn's container. */
const RELAY_PORT = 8118;

export const createKit = (targets: Targets, gatewayPort = RELAY_PORT): Kit => ({
  python,
  bash,
  exchange: exchangeAt(gatewayPort),
  canariesIn,
  targets,
});
