import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseEnvFile, readEnvFile } from '../../src/secrets/file.ts';
import { createSecrets } from '../../src/secrets.ts';
import { temporaryDirectory } from '../gateway/setup.ts';

const withValues = (values: Record<string, string>) => createSecrets(new Map(Object.entries(values)), '/h/.env');

describe('a .env file', () => {
  it('holds names and values, plain or quoted, and comments', () => {
    const text = [
      '\uFEFF# a comment',
      '',
      'A=plain',
      '  export B = spaced out # comment',
      'C=with#hash',
      "D='single # $x \\n'",
      'E="double \\"q\\" \\n" # comment',
      'F=',
      'G=a=b==',
      'H=  # only a comment',
    ].join('\r\n');
    expect(Object.fromEntries(parseEnvFile(text, '.env'))).toEqual({
      A: 'plain',
      B: 'spaced out',
      C: 'with#hash',
      D: 'single # $x \\n',
      E: 'double "q" \n',
      F: '',
      G: 'a=b==',
      H: '',
    });
  });

  it.each([
    ['just words', '.env:1: not NAME=value'],
    ['OK=1\n1BAD=x', '.env:2: not NAME=value'],
    ['A="topsecret', '.env:1: A: the quote'],
    ["A='topsecret' more", '.env:1: A: the quote'],
    ['A=1\nA=topsecret', '.env:2: A is set twice'],
  ])('%j is refused by line, without the value', (text, message) => {
    const attempt = () => parseEnvFile(text, '.env');
    expect(attempt).toThrow(message);
    expect(attempt).not.toThrow('topsecret');
  });

  it.each([0o644, 0o640, 0o604, 0o666])(
    'with a mode that lets others in is refused, naming the command',
    async (mode) => {
      const file = join(await temporaryDirectory(), '.env');
      await writeFile(file, 'A=topsecret\n');
      await chmod(file, mode);
      await expect(readEnvFile(file)).rejects.toMatchObject({
        code: 'config',
        message: expect.stringContaining(`${file}: others may read it: its mode is 0${mode.toString(8)}`),
        hint: `chmod 600 ${file}`,
      });
    },
  );

  it('of mode 0600 is read; a missing one means none', async () => {
    const file = join(await temporaryDirectory(), '.env');
    expect((await readEnvFile(file)).get('A')).toBeUndefined();
    await writeFile(file, 'A=value1\n', { mode: 0o600 });
    expect((await readEnvFile(file)).get('A')).toBe('value1');
  });
});

describe('secrets', () => {
  it('that are missing or empty are named with the file', () => {
    for (const secrets of [withValues({}), withValues({ KEY: '' })]) {
      expect(() => secrets.require('KEY')).toThrow('/h/.env: there is no secret KEY');
    }
  });

  it('are redacted by value in every written form, the longest first, the short ones not', () => {
    const secrets = withValues({ A: 'abcdef', B: 'abcdef-longer', C: 'qu"ote/ä', D: '12345' });
    expect(secrets.redact('abcdef-longer abcdef 12345')).toBe('[redacted] [redacted] 12345');
    expect(secrets.redact(JSON.stringify({ x: 'qu"ote/ä' }))).toBe('{"x":"[redacted]"}');
    expect(secrets.redact(`?q=${encodeURIComponent('qu"ote/ä')}`)).toBe('?q=[redacted]');
  });

  it('are found in a stream wherever its chunks are cut', () => {
    const secrets = withValues({ A: 'aabaab', B: 'zz-secret-zz' });
    const words = fc.constantFrom('aabaab', 'zz-secret-zz', 'aaba', 'zz', ' ', 'a', 'ok\n');
    fc.assert(
      fc.property(fc.array(words), fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1 }), (parts, sizes) => {
        const text = parts.join('');
        const filter = secrets.filter();
        const out: Buffer[] = [];
        let at = 0;
        for (let turn = 0; at < text.length; turn += 1) {
          const size = sizes[turn % sizes.length] ?? 1;
          out.push(filter.push(Buffer.from(text.slice(at, at + size))));
          at += size;
        }
        out.push(filter.end());
        const clean = Buffer.concat(out).toString();
        expect(clean).not.toContain('aabaab');
        expect(clean).not.toContain('zz-secret-zz');
        if (secrets.redact(text) === text) expect(clean).toBe(text);
      }),
    );
  });

  it('hold no chunk back that can’t be the beginning of one', () => {
    const filter = withValues({ A: 'sk-secret' }).filter();
    expect(filter.push(Buffer.from('data: {"a":1}\n\n')).toString()).toBe('data: {"a":1}\n\n');
    expect(filter.push(Buffer.from('tail s')).toString()).toBe('tail ');
    expect(filter.push(Buffer.from('un')).toString()).toBe('sun');
  });
});
