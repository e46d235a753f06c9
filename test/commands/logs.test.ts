/** The supervisor's log: rendering, the last lines of a long file, and following one that grows. */
import { appendFile, mkdir, readdir, rename, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import { logs } from '../../src/commands/logs.ts';
import { followLines } from '../../src/commands/logs-follow.ts';
import { type LogPosition, tailLines } from '../../src/commands/logs-read.ts';
import { isOfGroup, isOfRun, renderLogLine } from '../../src/commands/logs-render.ts';
import { LOG_BYTES_MAX, logFile, OLD_LOGS, oldLogFiles, rotateLog } from '../../src/ops/log-files.ts';
import { run, temporaryHome, testScreen } from './home-fixture.ts';

const line = (fields: object): string =>
  JSON.stringify({ level: 'info', time: '2026-05-17T10:00:00.000Z', pid: 1, home: '/h', ...fields });

const RUN = '01JZX3V5W8Y6T2Q4R7S9A1B3C5';

const everything = { count: 1_000_000, accept: () => true };

describe('a line', () => {
  test.each([
    ['a plain one', line({ msg: 'supervisor started' }), '2026-05-17T10:00:00.000Z INFO  supervisor started'],
    [
      'its context',
      line({ msg: 'turn ended', group: 'local:lobby', ms: 12, note: 'two words' }),
      '2026-05-17T10:00:00.000Z INFO  turn ended group=local:lobby ms=12 note="two words"',
    ],
    [
      'an error',
      line({ level: 'error', msg: 'it broke', err: { type: 'Error', message: 'no space', stack: 'Error: …' } }),
      '2026-05-17T10:00:00.000Z ERROR it broke err="no space"',
    ],
    ['numbers for time and level', '{"time":0,"level":30,"msg":"x"}', '1970-01-01T00:00:00.000Z 30    x'],
    ['control sequences in a text', line({ msg: '\u001b[2Jgone\nnew' }), '2026-05-17T10:00:00.000Z INFO  gone\\nnew'],
    ['no JSON', 'Error: \u001b[31mboom', 'Error: boom'],
    ['half a line', '{"level":"info","ms', '{"level":"info","ms'],
    ['JSON of another kind', '{"msg":7}', '{"msg":7}'],
  ])('is rendered with %s', (_, text, rendered) => {
    expect(renderLogLine(text)).toBe(rendered);
  });

  test('belongs to the group in its context alone', () => {
    const names = new Set(['local:lobby', 'lobby']);
    expect(isOfGroup(line({ group: 'local:lobby' }), names)).toBe(true);
    expect(isOfGroup(line({ group: 'local:other', msg: 'local:lobby' }), names)).toBe(false);
    expect(isOfGroup('local:lobby', names)).toBe(false);
  });

  test('belongs to the run in its context alone', () => {
    expect(isOfRun(line({ invocation: 'A' }), 'A')).toBe(true);
    expect(isOfRun(line({ invocation: 'B', msg: 'A' }), 'A')).toBe(false);
    expect(isOfRun('A', 'A')).toBe(false);
  });
});

describe('the last lines', () => {
  test.each([1, 2, 63, 64, 4_000])('of a file with lines of %d kilobytes are whole and in order', async (kilobytes) => {
    const home = await temporaryHome();
    const count = kilobytes > 1000 ? 3 : 40;
    const all = Array.from({ length: count }, (_, at) => `${at}:${'é'.repeat(kilobytes * 512)}`);
    const path = `${home.dir}/log`;
    await writeFile(path, `${all.join('\n')}\n`);
    expect((await tailLines(path, everything))?.lines).toEqual(all);
    expect((await tailLines(path, { ...everything, count: 2 }))?.lines).toEqual(all.slice(-2));
    const odd = { count: 1, accept: (text: string) => text.startsWith('1:') };
    expect((await tailLines(path, odd))?.lines).toEqual([all[1]]);
  });

  test('of an empty file are none, and of no file null', async () => {
    const home = await temporaryHome();
    await writeFile(`${home.dir}/log`, '');
    expect((await tailLines(`${home.dir}/log`, everything))?.lines).toEqual([]);
    expect(await tailLines(`${home.dir}/none`, everything)).toBeNull();
  });

  test('leave one that has not ended to whoever follows', async () => {
    const home = await temporaryHome();
    const path = `${home.dir}/log`;
    const half = 'h'.repeat(200_000);
    await writeFile(path, `whole\n${half}`);
    expect((await tailLines(path, everything))?.lines).toEqual(['whole', half]);
    const tail = await tailLines(path, { ...everything, wholeLines: true });
    expect(tail).toMatchObject({ lines: ['whole'], end: { offset: 'whole\n'.length } });
  });
});

/** Follows a file until the test is over; what has been seen so far. */
const follow = (path: string, after: LogPosition | null = null): string[] => {
  const stop = new AbortController();
  const seen: string[] = [];
  const following = (async () => {
    for await (const text of followLines(path, after, stop.signal)) seen.push(text);
  })();
  onTestFinished(async () => {
    stop.abort();
    await following;
  });
  return seen;
};

describe('a followed file', () => {
  test('that is renamed away is read to its end before the new one', async () => {
    const home = await temporaryHome();
    const path = `${home.dir}/log`;
    await writeFile(path, 'one\n');
    const seen = follow(path);
    await expect.poll(() => seen).toEqual(['one']);
    await appendFile(path, 'last words\nunfinished');
    await rename(path, `${path}.1`);
    await writeFile(path, 'new\n');
    await expect.poll(() => seen).toEqual(['one', 'last words', 'unfinished', 'new']);
  });

  test.each([
    ['shorter than it was', 'anew\n'],
    ['longer than it was', `anew\n${'and more\n'.repeat(100)}`],
  ])('that is cut is read from its start, also where it is %s by then', async (_, text) => {
    const home = await temporaryHome();
    const path = `${home.dir}/log`;
    await writeFile(path, 'a first line\nand a second one\nhalf');
    const seen = follow(path);
    await expect.poll(() => seen).toEqual(['a first line', 'and a second one']);
    await writeFile(path, text);
    await expect.poll(() => seen.slice(2)).toEqual(text.trimEnd().split('\n'));
  });

  test('with a line beyond all measure is read in pieces, and to its end', async () => {
    const home = await temporaryHome();
    const path = `${home.dir}/log`;
    const long = 'x'.repeat(3 * 1024 * 1024);
    await writeFile(path, `${long}\nafter\n`);
    const seen = follow(path);
    await expect.poll(() => seen.at(-1), { timeout: 10_000 }).toBe('after');
    expect(seen.slice(0, -1).join('')).toBe(long);
    expect(seen.length).toBeGreaterThan(2);
  });
});

test('a followed file is read on through appends, half lines, replacement and absence', async () => {
  const home = await temporaryHome();
  const path = `${home.dir}/log`;
  await writeFile(path, 'old\n');
  const tail = await tailLines(path, everything);
  const seen = follow(path, tail?.end);
  await appendFile(path, 'one\ntw');
  await expect.poll(() => seen).toEqual(['one']);
  await appendFile(path, 'o\n');
  await expect.poll(() => seen).toEqual(['one', 'two']);
  await writeFile(`${path}.new`, 'three\n');
  await rename(`${path}.new`, path);
  await expect.poll(() => seen).toEqual(['one', 'two', 'three']);
  await rm(path);
  await writeFile(`${path}.new`, 'four\n');
  await rename(`${path}.new`, path);
  await expect.poll(() => seen).toEqual(['one', 'two', 'three', 'four']);
});

describe('the command', () => {
  test('shows a group’s lines by its folder, and raw lines with --json', async () => {
    const home = await temporaryHome();
    await run(home, ['init']);
    await mkdir(home.logs, { recursive: true });
    const own = line({ group: 'local:lobby', msg: 'mine' });
    await writeFile(logFile(home), `${own}\n${line({ group: 'local:friends', msg: 'not mine' })}\n`);
    expect((await run(home, ['logs', '--group', 'lobby'])).text).toBe(
      '2026-05-17T10:00:00.000Z INFO  mine group=local:lobby\n',
    );
    expect((await run(home, ['logs', '--group', 'lobby', '--json'])).text).toBe(`${own}\n`);
    expect((await run(home, ['logs', '-n', '1'])).text).toContain('not mine');
  });

  test('shows one run, also from the older logs, and the newest lines where there are too many', async () => {
    const home = await temporaryHome();
    await run(home, ['init']);
    await mkdir(home.logs, { recursive: true });
    const lines = (...texts: string[]) => texts.map((msg) => `${line({ invocation: RUN, msg })}\n`).join('');
    const [newer = '', older = ''] = oldLogFiles(home);
    await writeFile(older, lines('first', 'second'));
    await writeFile(newer, `${line({ invocation: 'OTHER', msg: 'no' })}\n${lines('third')}`);
    await writeFile(logFile(home), lines('fourth'));
    const shown = async (count: string) => {
      const { text } = await run(home, ['logs', '--run', RUN.toLowerCase(), '-n', count]);
      return text
        .trimEnd()
        .split('\n')
        .map((shownLine) => shownLine.split(' ')[3]);
    };
    expect(await shown('10')).toEqual(['first', 'second', 'third', 'fourth']);
    expect(await shown('3')).toEqual(['second', 'third', 'fourth']);
  });

  test.each(['xyz', RUN])('a run %s that never was is an error, not silence', async (asked) => {
    const home = await temporaryHome();
    await run(home, ['init']);
    await mkdir(home.logs, { recursive: true });
    await writeFile(logFile(home), `${line({ invocation: 'OTHER', msg: 'no' })}\n`);
    await expect(run(home, ['logs', '--run', asked])).rejects.toMatchObject({
      code: 'not-found',
      message: `there is no run "${asked}"; a run’s id is 26 letters and digits`,
      hint: 'tierclaw runs list',
    });
  });

  test('a group of which the log has nothing gets a remark', async () => {
    const home = await temporaryHome();
    await run(home, ['init']);
    await mkdir(home.logs, { recursive: true });
    await writeFile(logFile(home), `${line({ msg: 'supervisor started' })}\n`);
    expect(await run(home, ['logs', '--group', 'lobby'])).toMatchObject({
      text: '',
      err: 'the log has no line of that group\n',
    });
  });

  test('says where it looked when there is no log', async () => {
    const home = await temporaryHome();
    await expect(run(home, ['logs'])).rejects.toMatchObject({
      code: 'not-found',
      message: `there is no log at ${logFile(home)}`,
    });
  });

  test('waits for a log that is to be followed', async () => {
    const home = await temporaryHome();
    const screen = testScreen(home);
    const following = logs(screen.context, { lines: 10, follow: true });
    await mkdir(home.logs, { recursive: true });
    await writeFile(logFile(home), `${line({ msg: 'at last' })}\n`);
    await expect.poll(screen.out).toContain('at last');
    screen.interrupt();
    expect(await following).toBeNull();
  });
});

describe('a log that has grown', () => {
  const bytesOf = async (path: string): Promise<number | null> => (await stat(path).catch(() => null))?.size ?? null;

  test('beyond the bound is put aside, the oldest one lost', async () => {
    const home = await temporaryHome();
    await mkdir(home.logs, { recursive: true });
    for (let bytes = LOG_BYTES_MAX + 1; bytes <= LOG_BYTES_MAX + OLD_LOGS + 2; bytes += 1) {
      await writeFile(logFile(home), '');
      await truncate(logFile(home), bytes);
      expect(await rotateLog(home)).toBe(true);
    }
    expect(await bytesOf(logFile(home))).toBeNull();
    const sizes = await Promise.all(oldLogFiles(home).map(bytesOf));
    expect(sizes.map((size) => (size ?? 0) - LOG_BYTES_MAX)).toEqual([5, 4, 3]);
    expect(await readdir(home.logs)).toHaveLength(OLD_LOGS);
  });

  test('less than that, or not at all, stays where it is', async () => {
    const home = await temporaryHome();
    expect(await rotateLog(home)).toBe(false);
    await mkdir(home.logs, { recursive: true });
    await writeFile(logFile(home), 'x');
    expect(await rotateLog(home)).toBe(false);
    expect(await readdir(home.logs)).toEqual(['supervisor.log']);
  });
});
