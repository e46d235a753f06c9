/**
 * A line of the audit trail, sealed and on disk, against a bare append of as many bytes with fdatasync to a file beside
 * it; and what the sealing alone costs. Each measurement is a batch of lines, because one write alone is mostly noise.
 */
import { closeSync, constants, fdatasyncSync, mkdirSync, openSync, writeSync } from 'node:fs';
import { mkdtemp, readFile, rm, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { sha256 } from '../../src/audit/files.ts';
import { boundedBody } from '../../src/audit/line.ts';
import { type AuditEvent, openAudit } from '../../src/audit.ts';
import { GENESIS, seal } from '../../src/domain/audit-chain.ts';
import { packageRoot } from '../../src/package-root.ts';
import { type Bench, type BenchOptions, ratioAtMost } from './bench.ts';
import { figure, interleave } from './statistics.ts';

const RATIO_BAR = 2;
const LINES = 300;
const TMPFS = 0x01021994;

const { O_APPEND, O_CREAT, O_WRONLY } = constants;

/** As a connection that was let through is recorded. */
const EVENT: AuditEvent = {
  kind: 'egress-open',
  group: 'local:lobby',
  invocation: '01JZX3V5W8Y6T2Q4R7S9A1B3C5',
  tier: 'untrusted',
  how: 'tunnel',
  host: 'registry.example.org',
  port: 443,
  verdict: 'allowed',
  reason: null,
  address: '198.51.100.7',
  up: 5120,
  down: 204_800,
  ms: 412,
};

/** Milliseconds for one of many. */
const each = (work: () => void): number => {
  const begun = performance.now();
  for (let line = 0; line < LINES; line += 1) work();
  return (performance.now() - begun) / LINES;
};

const openBare = (file: string) => {
  const descriptor = openSync(file, O_WRONLY | O_APPEND | O_CREAT, 0o600);
  return {
    append: (bytes: Buffer): void => {
      writeSync(descriptor, bytes);
      fdatasyncSync(descriptor);
    },
    close: () => closeSync(descriptor),
  };
};

const lineBytes = async (file: string): Promise<Buffer> => {
  const text = await readFile(file, 'latin1');
  return Buffer.from(text.slice(0, text.indexOf('\n') + 1), 'latin1');
};

const measureIn = async (directory: string, { runs, tell }: BenchOptions): ReturnType<Bench['measure']> => {
  const file = join(directory, 'audit.jsonl');
  const audit = openAudit(file, Date.now);
  audit.record(EVENT);
  const bytes = await lineBytes(file);
  const bare = openBare(join(directory, 'bare.jsonl'));
  const [ours, against, sealing]: [number[], number[], number[]] = [[], [], []];
  const at = new Date().toISOString();
  tell(`${runs} times ${LINES} lines each`);
  await interleave(runs, [
    async () => void ours.push(each(() => audit.record(EVENT))),
    async () => void against.push(each(() => bare.append(bytes))),
    async () => void sealing.push(each(() => void seal(GENESIS, boundedBody(EVENT, at), sha256))),
  ]);
  audit.close();
  bare.close();
  const [line, append] = [figure('audit line', 'ms', ours), figure('bare append with fdatasync', 'ms', against)];
  const isMemory = (await statfs(directory)).type === TMPFS;
  return {
    checks: [ratioAtMost(line, append, RATIO_BAR)],
    figures: [line, append, figure('sealing alone (JSON, SHA-256)', 'ms', sealing)],
    notes: [
      `a line has ${bytes.length} bytes, the bare one as many; the head is written at each line and not synced`,
      ...(isMemory ? ['this directory lies in memory, where a sync costs nothing: the ratio says little'] : []),
    ],
  };
};

/** Beside the program, because a temporary directory may lie in memory. */
const measure: Bench['measure'] = async (options) => {
  const parent = join(packageRoot(), 'dist');
  mkdirSync(parent, { recursive: true });
  const directory = await mkdtemp(join(parent, 'bench-audit-'));
  try {
    return await measureIn(directory, options);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
};

export const auditLine: Bench = {
  name: 'audit',
  title: 'a line of the audit trail against a bare append',
  measure,
};
