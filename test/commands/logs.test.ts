/** The supervisor's log: rendering, the last lines of a long file, and following one that grows. */
import { appendFile, mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { logFile, logs } from '../../src/commands/logs.ts';
import { followLines, tailLines } from '../../src/commands/logs-read.ts';
import { isOfGroup, renderLogLine } from '../../src/commands/logs-render.ts';
import { run, temporaryHome, testScreen } from './home-fixture.ts';

const line = (fields: object): string =>
  JSON.stringify({ level: 'info', time: '2026-05-17T10:00:00.000Z', pid: 1, home: '/h', ...fields });

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
});

test('a followed file is read on through appends, half lines, replacement and absence', async () => {
  const home = await temporaryHome();
  const path = `${home.dir}/log`;
  await writeFile(path, 'old\n');
  const tail = await tailLines(path, everything);
  const stop = new AbortController();
  const seen: string[] = [];
  const following = (async () => {
    for await (const text of followLines(path, tail?.end ?? { inode: 0, offset: 0 }, stop.signal)) seen.push(text);
  })();
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
  stop.abort();
  await following;
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
