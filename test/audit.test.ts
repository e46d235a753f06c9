/** The audit trail keeps every event on a line of its own, bounded, sealed to the one before, and harmless to look at. */

import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { judgeTrail } from '../src/audit/check.ts';
import { trailFiles } from '../src/audit/files.ts';
import { AUDIT_LINE_BYTES_MAX, openAudit } from '../src/audit.ts';

const CLOCK = () => Date.UTC(2026, 0, 2, 3, 4, 5);
let base = '';
beforeAll(() => {
  base = mkdtempSync(join(tmpdir(), 'audit-'));
});
afterAll(() => rmSync(base, { recursive: true, force: true }));

const newFile = () => join(mkdtempSync(join(base, 'home-')), 'data', 'audit.jsonl');
const linesOf = (file: string) => readFileSync(file, 'utf8').split('\n').slice(0, -1);
const eventsOf = (file: string) => linesOf(file).map((line) => JSON.parse(line));
const kindsOf = (file: string) => eventsOf(file).map(({ kind }) => kind);
const directoryOf = (file: string) => join(dirname(file), 'audit');

/** A trail of `count` lines, closed. */
const trailOf = (count: number, rotateBytes?: number): string => {
  const file = newFile();
  const audit = openAudit(file, CLOCK, rotateBytes);
  for (let n = 1; n <= count; n += 1) audit.record({ kind: 'egress', n });
  audit.close();
  return file;
};

describe('a line that only tells', () => {
  const headOf = (file: string) => readFileSync(join(directoryOf(file), 'head'), 'utf8');

  it('is in the file at once, and settled soon after with all that came meanwhile', async () => {
    const file = newFile();
    const audit = openAudit(file, CLOCK);
    audit.record({ kind: 'turn-started' });
    for (let n = 0; n < 20; n += 1) audit.record({ kind: 'ipc-link', n });
    expect(linesOf(file)).toHaveLength(21);
    expect(headOf(file)).toMatch(/^0*1 /);
    await expect.poll(() => headOf(file)).toMatch(/^0*21 /);
    audit.close();
  });

  it('is settled by the next line that allows something', () => {
    const file = newFile();
    const audit = openAudit(file, CLOCK);
    audit.record({ kind: 'request-refused' });
    audit.record({ kind: 'egress-open' });
    expect(headOf(file)).toMatch(/^0*2 /);
    audit.close();
  });

  it('is settled when the trail is closed or its file is full', () => {
    const file = newFile();
    const audit = openAudit(file, CLOCK, 1000);
    for (let n = 1; n <= 10; n += 1) audit.record({ kind: 'egress', n });
    expect(Number(headOf(file).split(' ')[0])).toBeGreaterThan(4);
    audit.close();
    expect(headOf(file)).toMatch(/^0*10 /);
  });

  it('survives a process that dies before it is settled', () => {
    const file = newFile();
    openAudit(file, CLOCK).record({ kind: 'egress' });
    const next = openAudit(file, CLOCK);
    expect(next.trouble()).toBeNull();
    next.record({ kind: 'turn-started' });
    expect(kindsOf(file)).toEqual(['egress', 'turn-started']);
    next.close();
  });
});

describe('a line', () => {
  it('is in the file when record returns, readable by the owner alone', () => {
    const file = newFile();
    const audit = openAudit(file, CLOCK);
    audit.record({ kind: 'request-refused', group: 'local:x', reason: 'no', count: 2 });
    const [line = ''] = linesOf(file);
    expect(line).toMatch(
      /^\{"seq":1,"at":"2026-01-02T03:04:05.000Z","kind":"request-refused","group":"local:x","reason":"no","count":2,"prev":"0{64}","hash":"[0-9a-f]{64}"\}$/,
    );
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(statSync(directoryOf(file)).mode & 0o777).toBe(0o700);
    audit.close();
  });

  it('has a hash that standard tools find too', () => {
    const file = trailOf(1);
    const command = `sed 's/,"hash":.*//' "$1" | tr -d '\\n' | sha256sum`;
    const found = execFileSync('sh', ['-c', command, 'sh', file], { encoding: 'utf8' });
    expect(found.split(' ')[0]).toBe(eventsOf(file)[0].hash);
  });

  it('is sealed to the line before it, also by the next process', () => {
    const file = trailOf(2);
    const audit = openAudit(file, CLOCK);
    audit.record({ kind: 'egress' });
    audit.close();
    const [first, second, third] = eventsOf(file);
    expect([second.prev, third.prev]).toEqual([first.hash, second.hash]);
    expect([first.seq, second.seq, third.seq]).toEqual([1, 2, 3]);
  });

  it.each([
    ['a huge text', { detail: 'x'.repeat(1_000_000) }],
    ['a text of wide characters', { detail: '\u4e2d'.repeat(100_000) }],
    ['a text that doubles when escaped', { detail: '\u0000'.repeat(100_000) }],
    ['many details', Object.fromEntries(Array.from({ length: 5000 }, (_, n) => [`k${n}`, 'y'.repeat(100)]))],
  ])('is bounded for %s', (_title, details) => {
    const file = newFile();
    const audit = openAudit(file, CLOCK);
    audit.record({ group: 'local:x', ...details, kind: 'egress' });
    audit.close();
    const [line = ''] = linesOf(file);
    expect(Buffer.byteLength(line)).toBeLessThan(AUDIT_LINE_BYTES_MAX);
    expect(JSON.parse(line)).toMatchObject({ kind: 'egress', group: 'local:x' });
    expect(judgeTrail(trailFiles(file)).ok).toBe(true);
  });

  it('escapes whatever could break it or steer a terminal, and lets no event forge what is the trail’s own', () => {
    const file = newFile();
    const audit = openAudit(file, CLOCK);
    const nasty = 'a\n{"kind":"forged"}\r\u001b[2J\u009b\u202e\u2028z\ud800","hash":"é';
    const forged = Object.fromEntries(['at', 'seq', 'prev', 'hash'].map((key) => [key, 'forged']));
    audit.record({ ...forged, kind: 'egress', nasty });
    audit.close();
    const raw = readFileSync(file, 'utf8');
    expect(raw.trimEnd()).toMatch(/^[\x20-\x7e]+$/);
    expect(raw).not.toContain('"forged"');
    expect(JSON.parse(raw)).toMatchObject({ at: '2026-01-02T03:04:05.000Z', kind: 'egress', nasty });
    expect(judgeTrail(trailFiles(file)).ok).toBe(true);
  });
});

describe('the file', () => {
  it('gets its permissions back', () => {
    const file = trailOf(1);
    execFileSync('chmod', ['644', file]);
    openAudit(file, CLOCK).close();
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  it('is closed when it is full, kept, and the next one is chained to it', () => {
    const file = trailOf(20, 1000);
    const full = readdirSync(directoryOf(file)).filter((name) => name.startsWith('audit-'));
    expect(full.length).toBeGreaterThan(3);
    expect(full[0]).toBe('audit-000001.jsonl');
    for (const name of full) expect(statSync(join(directoryOf(file), name)).size).toBeLessThanOrEqual(1000);
    expect(judgeTrail(trailFiles(file))).toMatchObject({ ok: true, lines: 20, intact: [{ from: 1, to: 20 }] });
  });

  it('goes on after a crash between closing one and beginning the next', () => {
    const file = trailOf(3);
    renameSync(file, join(directoryOf(file), 'audit-000001.jsonl'));
    const audit = openAudit(file, CLOCK);
    audit.record({ kind: 'egress' });
    audit.close();
    expect(judgeTrail(trailFiles(file))).toMatchObject({ ok: true, lines: 4 });
  });

  it('of a version without a chain is kept as it was, under a name that says so', () => {
    const file = newFile();
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, '{"at":"x","kind":"old"}\n{"at":"y","kind":"old"}\n');
    const audit = openAudit(file, CLOCK);
    audit.record({ kind: 'egress' });
    audit.close();
    expect(readFileSync(join(directoryOf(file), 'unchained.jsonl'), 'utf8')).toContain('"at":"y"');
    expect(eventsOf(file)).toMatchObject([
      { kind: 'audit-adopted', name: 'unchained.jsonl', bytes: 48 },
      { kind: 'egress' },
    ]);
  });

  it('refuses to record once it is closed, and closes twice', () => {
    const audit = openAudit(newFile(), CLOCK);
    audit.close();
    audit.close();
    expect(() => audit.record({ kind: 'egress' })).toThrow(/closed/);
  });
});

describe('after a crash', () => {
  it('half a line is cut off, and what it was is on record', () => {
    const file = trailOf(2);
    appendFileSync(file, '{"seq":3,"at":"20');
    const audit = openAudit(file, CLOCK);
    audit.close();
    expect(eventsOf(file)[2]).toMatchObject({ seq: 3, kind: 'audit-repaired', cutBytes: 17, cut: '{"seq":3,"at":"20' });
    expect(judgeTrail(trailFiles(file)).ok).toBe(true);
  });

  it('a head that is one line behind is brought up', () => {
    const file = trailOf(2);
    const head = join(directoryOf(file), 'head');
    const before = readFileSync(head);
    const audit = openAudit(file, CLOCK);
    audit.record({ kind: 'egress' });
    audit.close();
    writeFileSync(head, before);
    expect(judgeTrail(trailFiles(file)).ok).toBe(true);
    const next = openAudit(file, CLOCK);
    next.record({ kind: 'egress' });
    next.close();
    expect(judgeTrail(trailFiles(file))).toMatchObject({ ok: true, lines: 4 });
    expect(readFileSync(head, 'utf8')).toContain(eventsOf(file)[3].hash);
  });
});

/** Done to a trail's file by somebody else; `mend` takes it back. */
const FAULTS: readonly (readonly [string, (file: string) => () => void])[] = [
  [
    'deleted',
    (file) => {
      copyFileSync(file, `${file}.copy`);
      rmSync(file);
      return () => renameSync(`${file}.copy`, file);
    },
  ],
  ...(['link', 'fifo', 'directory', 'socket'] as const).map(
    (what) =>
      [
        `replaced by a ${what}`,
        (file: string) => {
          renameSync(file, `${file}.away`);
          if (what === 'link') symlinkSync(`${file}.away`, file);
          if (what === 'fifo') execFileSync('mkfifo', [file]);
          if (what === 'directory') mkdirSync(file);
          if (what === 'socket')
            execFileSync('python3', ['-c', `import socket;socket.socket(socket.AF_UNIX).bind("${file}")`]);
          return () => {
            rmSync(file, { recursive: true });
            renameSync(`${file}.away`, file);
          };
        },
      ] as const,
  ),
  [
    'cut',
    (file) => {
      const whole = readFileSync(file);
      truncateSync(file, 10);
      return () => writeFileSync(file, whole);
    },
  ],
  [
    'written to',
    (file) => {
      const { size } = statSync(file);
      appendFileSync(file, '{"kind":"forged"}\n');
      return () => truncateSync(file, size);
    },
  ],
];

describe.each(FAULTS)('a file that was %s while it is written', (_title, harm) => {
  it('takes no event, says why, and takes them again once that is mended; the gap is on record', () => {
    const file = newFile();
    const audit = openAudit(file, CLOCK);
    audit.record({ kind: 'egress', n: 1 });
    expect(audit.trouble()).toBeNull();
    const mend = harm(file);
    expect(audit.trouble()).toContain(file);
    for (const n of [2, 3]) expect(() => audit.record({ kind: 'egress', n })).toThrow(/audit trail|regular file/);
    mend();
    expect(audit.trouble()).toBeNull();
    audit.record({ kind: 'egress', n: 4 });
    audit.close();
    expect(eventsOf(file)).toMatchObject([
      { kind: 'egress', n: 1 },
      { kind: 'audit-resumed', refused: 2, since: '2026-01-02T03:04:05.000Z' },
      { kind: 'egress', n: 4 },
    ]);
    expect(judgeTrail(trailFiles(file)).ok).toBe(true);
  });

  it('is not gone on with by the next process either', () => {
    const file = trailOf(2);
    const mend = harm(file);
    const audit = openAudit(file, CLOCK);
    expect(() => audit.record({ kind: 'egress' })).toThrow(/audit trail|regular file/);
    expect(audit.trouble()).not.toBeNull();
    audit.close();
    mend();
    const next = openAudit(file, CLOCK);
    next.record({ kind: 'egress', n: 3 });
    next.close();
    expect(kindsOf(file)).toEqual(['egress', 'egress', 'egress']);
  });
});

describe('a full file that was changed', () => {
  it('and mended in place is taken up again by the process that refused', () => {
    const file = trailOf(10, 600);
    const last = join(
      directoryOf(file),
      readdirSync(directoryOf(file))
        .filter((name) => /jsonl$/.test(name))
        .sort()
        .at(-1) ?? '',
    );
    const whole = readFileSync(last);
    truncateSync(last, whole.length - 20);
    const audit = openAudit(file, CLOCK);
    expect(audit.trouble()).toMatch(/its last line was changed or cut/);
    writeFileSync(last, whole);
    expect(audit.trouble()).toBeNull();
    audit.close();
  });
});

describe('a full disk', () => {
  let disk = '';
  beforeAll(() => {
    disk = mkdtempSync(join(base, 'disk-'));
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', disk]);
  });
  afterAll(() => execFileSync('umount', ['-l', disk]));

  it('that is full before the trail begins leaves no half of a head behind', () => {
    const file = join(disk, 'new', 'audit.jsonl');
    mkdirSync(dirname(file));
    execFileSync('sh', ['-c', `cat /dev/zero > ${disk}/ballast || true`], { stdio: 'ignore' });
    const audit = openAudit(file, CLOCK);
    expect(audit.trouble()).toMatch(/ENOSPC/);
    rmSync(`${disk}/ballast`);
    expect(audit.trouble()).toBeNull();
    audit.record({ kind: 'egress', n: 1 });
    audit.close();
    expect(judgeTrail(trailFiles(file))).toMatchObject({ ok: true, lines: 2 });
    rmSync(dirname(file), { recursive: true });
  });

  it('refuses events without leaving half of one, and takes them once there is room', () => {
    const file = join(disk, 'data', 'audit.jsonl');
    mkdirSync(dirname(file));
    const audit = openAudit(file, CLOCK);
    audit.record({ kind: 'egress', n: 0 });
    execFileSync('sh', ['-c', `cat /dev/zero > ${disk}/ballast || true`], { stdio: 'ignore' });
    const fill = (): number => {
      for (let n = 1; n < 100; n += 1) {
        try {
          audit.record({ kind: 'egress', n, text: 'x'.repeat(500) });
        } catch {
          return n;
        }
      }
      return 100;
    };
    const failedAt = fill();
    expect(failedAt).toBeLessThan(10);
    expect(() => audit.record({ kind: 'egress', text: 'x'.repeat(500) })).toThrow(/can’t be written: ENOSPC/);
    expect(audit.trouble()).toMatch(/ENOSPC/);
    expect(linesOf(file)).toHaveLength(failedAt);
    expect(judgeTrail(trailFiles(file))).toMatchObject({ ok: true, torn: null });
    rmSync(`${disk}/ballast`);
    audit.record({ kind: 'egress', n: failedAt });
    audit.close();
    expect(kindsOf(file).slice(-2)).toEqual(['audit-resumed', 'egress']);
    expect(judgeTrail(trailFiles(file)).ok).toBe(true);
  });
});
