import { closeSync, existsSync, openSync, readFileSync, statSync, writeSync } from 'node:fs';
import { mkdir, symlink, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { ulid } from 'ulid';
import { describe, expect, it } from 'vitest';
import { GroupId } from '../../src/domain/ids.ts';
import { RetentionConfig } from '../../src/domain/retention-config.ts';
import type { Home } from '../../src/home.ts';
import { collectAll, type GcReport } from '../../src/ops/gc.ts';
import { fileCollectors } from '../../src/ops/gc-files.ts';
import { logFile, oldLogFiles, rotateOwnLog } from '../../src/ops/log-files.ts';
import { openStores } from '../../src/store/stores.ts';
import { run, temporaryHome } from './home-fixture.ts';

const DAY_MS = 24 * 3_600_000;
const POLICY = RetentionConfig.parse({});

const put = async (path: string, text = 'x'): Promise<string> => {
  await mkdir(join(path, '..'), { recursive: true });
  await writeFile(path, text);
  return path;
};

/** What is there now, looked at so many days later. */
const collect = (home: Home, days: number, { dryRun = false, keep = [] as string[], policy = POLICY } = {}) =>
  collectAll(fileCollectors({ home, policy, nowMs: Date.now() + days * DAY_MS, keep: () => new Set(keep) }), dryRun);

const counts = ({ kinds }: GcReport) =>
  Object.fromEntries(
    kinds.filter(({ found }) => found > 0).map(({ kind, found, removed }) => [kind, [found, removed]]),
  );

describe('clearing away files', () => {
  it('takes what has been kept long enough, of every kind, and a second time finds nothing', async () => {
    const home = await temporaryHome();
    const files = [
      join(home.quarantine, 'bad'),
      join(home.outfiles, 'lobby', ulid(), 'report.pdf'),
      `${logFile(home)}.2`,
      `${home.stateDatabase}.damaged-20260102T030405678Z`,
      `${home.stateDatabase}.damaged-20260102T030405678Z-wal`,
      join(home.trash, 'turn', 'deep', 'file'),
    ];
    const kept = [logFile(home), home.stateDatabase, join(home.backups, 'state-1.db'), home.auditFile];
    for (const file of [...files, ...kept]) await put(file, 'x'.repeat(5000));
    await mkdir(home.published, { recursive: true });
    await symlink('/etc/passwd', join(home.quarantine, 'link'));
    const dry = await collect(home, 400, { dryRun: true });
    const expected = { quarantine: 2, 'sent files': 1, 'old logs': 1, 'replaced databases': 2, trash: 1 };
    expect(counts(dry)).toEqual(
      Object.fromEntries(Object.entries(expected).map(([kind, found]) => [kind, [found, 0]])),
    );
    expect(files.filter((file) => !existsSync(file))).toEqual([]);
    const report = await collect(home, 400);
    expect(counts(report)).toEqual(
      Object.fromEntries(Object.entries(expected).map(([kind, found]) => [kind, [found, found]])),
    );
    expect(report.kinds.map(({ bytes }) => bytes)).toEqual(dry.kinds.map(({ bytes }) => bytes));
    expect(files.filter((file) => existsSync(file))).toEqual([]);
    expect(kept.filter((file) => !existsSync(file))).toEqual([]);
    expect(existsSync('/etc/passwd')).toBe(true);
    expect(counts(await collect(home, 400))).toEqual({});
  });

  it('takes trees that are deeper than any path', async () => {
    const home = await temporaryHome();
    await mkdir(join(home.trash, 'turn'), { recursive: true });
    const dig =
      'import os\nfor i in range(60): os.mkdir("d" * 100); os.chdir("d" * 100)\nopen("f", "w").write("x" * 100000)';
    await execa('python3', ['-c', dig], { cwd: join(home.trash, 'turn') });
    const dry = await collect(home, 1, { dryRun: true });
    expect(dry.failed).toEqual([]);
    expect(dry.kinds.find(({ kind }) => kind === 'trash')?.bytes).toBeGreaterThan(100_000);
    expect(counts(await collect(home, 1))).toEqual({ trash: [1, 1] });
  });

  it('leaves what is younger, whatever date its content brought along', async () => {
    const home = await temporaryHome();
    const file = await put(join(home.quarantine, 'bad'));
    await utimes(file, new Date(0), new Date(0));
    await put(join(home.trash, 'turn', 'file'));
    expect(counts(await collect(home, 29))).toEqual({ trash: [1, 1] });
    expect(counts(await collect(home, 0))).toEqual({});
    expect(existsSync(file)).toBe(true);
  });

  it('leaves a sent file that is still to be sent', async () => {
    const home = await temporaryHome();
    const waiting = await put(join(home.outfiles, 'lobby', ulid(), 'a'));
    await put(join(home.outfiles, 'lobby', ulid(), 'b'));
    expect(counts(await collect(home, 400, { keep: [waiting] }))).toEqual({ 'sent files': [1, 1] });
    expect(existsSync(waiting)).toBe(true);
  });

  it('keeps what has no end', async () => {
    const home = await temporaryHome();
    await put(join(home.quarantine, 'bad'));
    expect(counts(await collect(home, 9999, { policy: { ...POLICY, quarantineDays: null } }))).toEqual({});
  });

  it('goes on with the others where one kind fails, and says which', async () => {
    const report = await collectAll(
      [
        { name: 'broken', collect: () => Promise.reject(new Error('no luck')) },
        { name: 'fine', collect: async () => [{ kind: 'fine', found: 1, removed: 1, bytes: 1 }] },
      ],
      false,
    );
    expect(report.failed).toEqual([{ name: 'broken', message: 'no luck', hint: null }]);
    expect(counts(report)).toEqual({ fine: [1, 1] });
  });
});

describe('the supervisor’s own log', () => {
  it('is put aside while it is written to; no line is lost, and the oldest goes', async () => {
    const home = await temporaryHome();
    await mkdir(home.logs, { recursive: true });
    const descriptor = openSync(logFile(home), 'a');
    try {
      for (let round = 0; round < 5; round += 1) {
        writeSync(descriptor, `${round}\n`.repeat(100));
        expect(rotateOwnLog(home, descriptor, 100)).toBe(true);
        writeSync(descriptor, `after ${round}\n`);
      }
      expect(readFileSync(logFile(home), 'utf8')).toBe('after 4\n');
      expect(oldLogFiles(home).map((file) => readFileSync(file, 'utf8'))).toEqual(
        [4, 3, 2].map((round) => `after ${round - 1}\n${`${round}\n`.repeat(100)}`),
      );
      expect(rotateOwnLog(home, descriptor, 100)).toBe(false);
    } finally {
      closeSync(descriptor);
    }
  });

  it('is left alone where the output goes elsewhere', async () => {
    const home = await temporaryHome();
    await put(logFile(home), 'x'.repeat(1000));
    const elsewhere = openSync(join(home.dir, 'other'), 'a');
    expect(rotateOwnLog(home, elsewhere, 10)).toBe(false);
    closeSync(elsewhere);
    expect(statSync(logFile(home)).size).toBe(1000);
  });
});

describe('tierclaw gc', () => {
  it('says what goes and that nothing did; then it is gone, and on record', async () => {
    const home = await temporaryHome();
    const stores = openStores(home, () => Date.now() - 365 * DAY_MS);
    const id = stores.outbox.add({ invocation: null, chat: GroupId.parse('local:lobby'), text: 'x' });
    stores.outbox.markSent(id);
    stores.close();
    const dry = await run(home, ['gc', '--dry-run']);
    expect(dry.data).toMatchObject({ dryRun: true, removed: 0, failed: [] });
    expect(dry.text).toMatch(/delivered replies +1 +0/);
    const done = await run(home, ['gc']);
    expect(done.text).toMatch(/delivered replies +1 +1/);
    expect(done.status).toBe(0);
    expect(readFileSync(home.auditFile, 'utf8')).toContain('"kind":"gc"');
    expect((await run(home, ['gc'])).data).toMatchObject({ removed: 0 });
  });

  it('is refused where there is no home', async () => {
    const home = await temporaryHome();
    await expect(run(home, ['gc'])).rejects.toMatchObject({ code: 'not-found' });
    expect((await execa('ls', ['-A', home.dir])).stdout).toBe('');
  });
});
