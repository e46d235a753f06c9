/** What a log line carries, and what never reaches one. */
import { setImmediate as tick } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createLogger, forLog, withLogContext } from '../src/logger.ts';

const open = (level = 'info') => {
  const lines: string[] = [];
  const logger = createLogger({
    level,
    home: '/srv/home',
    redact: (line) => line.replaceAll('hunter2', '[redacted]'),
    destination: { write: (line) => void lines.push(line) },
  });
  return { logger, lines, last: () => JSON.parse(lines.at(-1) ?? '{}') as Record<string, unknown> };
};

test('a line is JSON with time, level by name, home and message', () => {
  const { logger, last } = open();
  logger.info({ count: 2 }, 'hello');
  expect(last()).toMatchObject({ level: 'info', home: '/srv/home', msg: 'hello', count: 2 });
  expect(last().time).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
});

test('lines below the level are dropped', () => {
  const { logger, lines } = open('warn');
  logger.info('no');
  logger.warn('yes');
  expect(lines.length).toBe(1);
});

test('the context comes along through waits, is joined with the one around it, and ends', async () => {
  const { logger, last } = open();
  await withLogContext({ group: 'local:a', tier: 't' }, async () => {
    await tick();
    logger.info('outer');
    expect(last()).toMatchObject({ group: 'local:a', tier: 't' });
    await withLogContext({ invocation: 'I1' }, async () => {
      await tick();
      logger.child({ part: 'x' }).info('inner');
      expect(last()).toMatchObject({ group: 'local:a', tier: 't', invocation: 'I1', part: 'x' });
    });
    logger.info('outer again');
    expect(last()).not.toHaveProperty('invocation');
  });
  logger.info('outside');
  expect(last()).not.toHaveProperty('group');
});

test('two turns at once keep their contexts apart', async () => {
  const { logger, lines } = open();
  const turn = (group: string): Promise<void> =>
    withLogContext({ group }, async () => {
      await tick();
      logger.info(group);
    });
  await Promise.all([turn('a'), turn('b')]);
  expect(lines.map((line) => JSON.parse(line)).every(({ group, msg }) => group === msg)).toBe(true);
});

test('a logged object can’t pose as the context', () => {
  const { logger, last } = open();
  withLogContext({ group: 'local:a' }, () => logger.info({ group: 'local:b' }, 'x'));
  expect(last().group).toBe('local:a');
});

test('secrets are taken out of message, fields, nested values, child bindings and errors', () => {
  const { logger, lines } = open();
  const child = logger.child({ bound: 'hunter2' });
  child.error({ err: new Error('hunter2'), deep: { list: ['hunter2'] } }, 'the key is hunter2');
  expect(lines.join('')).not.toContain('hunter2');
  expect(lines.join('').split('[redacted]').length).toBeGreaterThanOrEqual(5);
});

test.each([
  ['plain', 'abc', 10, 'abc'],
  ['too long', 'abcdef', 4, 'abcd… (+2)'],
  ['line breaks', 'a\nb\r\nc', 10, 'a\\nb\\u{d}\\nc'],
  ['escapes', '\u001b[31m', 10, '\\u{1b}[31m'],
  ['bidi overrides', 'a\u202eb', 10, 'a\\u{202e}b'],
  ['line separators', 'a\u2028b', 10, 'a\\u{2028}b'],
  ['half a character', '👍👍', 3, '👍\\u{d83d}… (+1)'],
  ['nothing', '', 0, ''],
])('text of a container for a log: %s', (_, text, max, safe) => {
  expect(forLog(text, max)).toBe(safe);
});
