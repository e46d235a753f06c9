/** Whatever is done to a trail behind its back is found and named; what the operator has acknowledged stays named. */
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { acknowledge } from '../src/audit/acknowledge.ts';
import { judgeTrail } from '../src/audit/check.ts';
import { sha256, trailFiles } from '../src/audit/files.ts';
import { openAudit } from '../src/audit.ts';
import { GENESIS, seal } from '../src/domain/audit-chain.ts';

const CLOCK = () => Date.UTC(2026, 0, 2, 3, 4, 5);
const AT = '2026-01-02T03:04:05.000Z';
let base = '';
beforeAll(() => {
  base = mkdtempSync(join(tmpdir(), 'audit-verify-'));
});
afterAll(() => rmSync(base, { recursive: true, force: true }));

const write = (file: string, count: number, rotateBytes?: number): void => {
  const audit = openAudit(file, CLOCK, rotateBytes);
  for (let n = 1; n <= count; n += 1) audit.record({ kind: 'egress', host: 'example.org', n });
  audit.close();
};

const trailOf = (count: number, rotateBytes?: number): string => {
  const file = join(mkdtempSync(join(base, 'home-')), 'audit.jsonl');
  write(file, count, rotateBytes);
  return file;
};

const linesOf = (file: string) => readFileSync(file, 'latin1').split('\n').slice(0, -1);
const put = (file: string, lines: readonly string[]) =>
  writeFileSync(file, lines.map((line) => `${line}\n`).join(''), 'latin1');
const headOf = (file: string) => join(dirname(file), 'audit', 'head');
const judge = (file: string) => judgeTrail(trailFiles(file));
const named = (file: string) => judge(file).flaws.map(({ file: name, line, what }) => `${name}:${line}: ${what}`);

/** Lines that are sealed to each other, all new: what somebody makes who knows how. */
const forge = (count: number): string[] => {
  const lines: string[] = [];
  let link = GENESIS;
  for (let n = 1; n <= count; n += 1) {
    const sealed = seal(link, `"at":"${AT}","kind":"egress","host":"forged.example","n":${n}`, sha256);
    lines.push(sealed.line.trimEnd());
    link = sealed.link;
  }
  return lines;
};

type Edit = (lines: string[]) => string[];
const without =
  (...gone: number[]): Edit =>
  (lines) =>
    lines.filter((_, at) => !gone.includes(at + 1));
const swap = (lines: string[], a: number, b: number): string[] => {
  const copy = [...lines];
  [copy[a], copy[b]] = [copy[b] ?? '', copy[a] ?? ''];
  return copy;
};

/** Of ten lines; what is named. */
const EDITS: readonly (readonly [string, Edit, readonly RegExp[]])[] = [
  [
    'a changed text',
    (lines) => lines.map((line, at) => (at === 4 ? line.replace('example.org', 'example.com') : line)),
    [/^audit\.jsonl:5: number 5 was changed/],
  ],
  [
    'a changed number',
    (lines) => lines.map((line, at) => (at === 4 ? line.replace('"seq":5', '"seq":6') : line)),
    [/^audit\.jsonl:5: number 6 was changed/],
  ],
  [
    'a changed hash',
    (lines) => lines.map((line, at) => (at === 4 ? line.replace(/"hash":"./, '"hash":"x') : line)),
    [/^audit\.jsonl:5: this is not a line of the trail/],
  ],
  [
    'a line of garbage',
    (lines) => lines.map((line, at) => (at === 4 ? 'garbage' : line)),
    [/^audit\.jsonl:5: this is not a line/],
  ],
  [
    'a line of bytes',
    (lines) => lines.map((line, at) => (at === 4 ? '\xff\x00\xfe' : line)),
    [/^audit\.jsonl:5: this is not a line/],
  ],
  [
    'an emptied line',
    (lines) => lines.map((line, at) => (at === 4 ? '' : line)),
    [/^audit\.jsonl:5: this is not a line/],
  ],
  ['a removed line', without(5), [/^audit\.jsonl:5: line number 5 is missing before number 6/]],
  ['removed lines', without(3, 4, 5), [/^audit\.jsonl:3: lines number 3–5 are missing before number 6/]],
  ['a removed first line', without(1), [/^audit\.jsonl:1: line number 1 is missing before number 2/]],
  ['a removed last line', without(10), [/^audit\.jsonl:9: line number 10 is missing at the end/]],
  ['a removed tail', without(8, 9, 10), [/^audit\.jsonl:7: lines number 8–10 are missing at the end/]],
  ['nothing left', () => [], [/^audit\.jsonl:null: lines number 1–10 are missing at the end/]],
  [
    'two lines swapped',
    (lines) => swap(lines, 4, 5),
    [
      /^audit\.jsonl:5: line number 5 is missing before number 6/,
      /^audit\.jsonl:6: number 5 comes after number 6: it was moved/,
    ],
  ],
  [
    'a line moved to the end',
    (lines) => [...without(5)(lines), lines[4] ?? ''],
    [/^audit\.jsonl:5: line number 5 is missing/, /^audit\.jsonl:10: number 5 comes after number 10/],
  ],
  [
    'a doubled line',
    (lines) => [...lines.slice(0, 5), lines[4] ?? '', ...lines.slice(5)],
    [/^audit\.jsonl:6: number 5 comes after number 5: it was moved, doubled/],
  ],
  [
    'an added line of garbage',
    (lines) => [...lines.slice(0, 5), '{"kind":"x"}', ...lines.slice(5)],
    [/^audit\.jsonl:6: this is not a line/],
  ],
  [
    'an added line with a true hash',
    (lines) => [...lines.slice(0, 5), forge(6)[5] ?? '', ...lines.slice(5)],
    [
      /^audit\.jsonl:6: number 6 doesn’t follow/,
      /^audit\.jsonl:7: number 6 comes after number 6/,
      /^audit\.jsonl:8: number 7 doesn’t follow/,
    ],
  ],
  [
    'two lines run together',
    (lines) => [...lines.slice(0, 4), `${lines[4]}${lines[5]}`, ...lines.slice(6)],
    [/^audit\.jsonl:5: /, /^audit\.jsonl:6: line number 6 is missing/],
  ],
  [
    'a line cut in two',
    (lines) => [...lines.slice(0, 4), (lines[4] ?? '').slice(0, 50), (lines[4] ?? '').slice(50), ...lines.slice(5)],
    [/^audit\.jsonl:5: this is not/, /^audit\.jsonl:6: this is not/],
  ],
  [
    'a rewritten end, sealed anew',
    (lines) => [...lines.slice(0, 8), ...reseal(lines.slice(8))],
    [/^audit\.jsonl:10: number 10 is not the line that was noted down outside/],
  ],
  ['a trail written anew', () => forge(10), [/^audit\.jsonl:10: number 10 is not the line that was noted/]],
  ['a longer trail written anew', () => forge(12), [/^audit\.jsonl:10: number 10 is not the line that was noted/]],
  ['a shorter trail written anew', () => forge(6), [/^audit\.jsonl:6: lines number 7–10 are missing at the end/]],
];

/** With another text, and sealed to what was before. */
function reseal(lines: readonly string[]): string[] {
  const prev = /"prev":"([0-9a-f]{64})"/.exec(lines[0] ?? '')?.[1] ?? '';
  let link = { seq: 10 - lines.length, hash: prev };
  return lines.map(() => {
    const sealed = seal(link, `"at":"${AT}","kind":"egress","host":"forged.example"`, sha256);
    link = sealed.link;
    return sealed.line.trimEnd();
  });
}

describe('a trail', () => {
  it('that nobody has touched is whole', () => {
    expect(judge(trailOf(10))).toMatchObject({ ok: true, lines: 10, flaws: [], intact: [{ from: 1, to: 10 }] });
  });

  it('that has not begun is whole', () => {
    expect(judge(join(mkdtempSync(join(base, 'home-')), 'audit.jsonl'))).toMatchObject({ ok: true, lines: 0 });
  });

  it.each(EDITS)('with %s is broken there, and no supervisor goes on with it', (_title, edit, expected) => {
    const file = trailOf(10);
    put(file, edit(linesOf(file)));
    const found = named(file);
    expect(found).toHaveLength(expected.length);
    for (const [at, pattern] of expected.entries()) expect(found[at]).toMatch(pattern);
    expect(judge(file).ok).toBe(false);
    const audit = openAudit(file, CLOCK);
    expect(audit.trouble()).toContain('the audit trail is broken: audit.jsonl');
    expect(() => audit.record({ kind: 'egress' })).toThrow(/broken/);
    audit.close();
  });

  it('says what is intact', () => {
    const file = trailOf(10);
    put(file, without(4, 5)(linesOf(file)));
    expect(judge(file)).toMatchObject({
      lines: 8,
      intact: [
        { from: 1, to: 3 },
        { from: 6, to: 10 },
      ],
    });
  });

  it('cut in the middle of a line is broken, not repaired', () => {
    const file = trailOf(10);
    const text = readFileSync(file, 'latin1');
    writeFileSync(file, text.slice(0, -30));
    expect(named(file)).toEqual([expect.stringMatching(/^audit\.jsonl:9: line number 10 is missing at the end/)]);
    const audit = openAudit(file, CLOCK);
    expect(audit.trouble()).toContain('missing at the end');
    audit.close();
    expect(readFileSync(file, 'latin1')).toBe(text.slice(0, -30));
  });

  it('with any bit flipped anywhere is broken', () => {
    const file = trailOf(6);
    const whole = readFileSync(file);
    fc.assert(
      fc.property(fc.nat(whole.length - 1), fc.nat(7), (at, bit) => {
        const bytes = Buffer.from(whole);
        bytes[at] = (bytes[at] ?? 0) ^ (1 << bit);
        writeFileSync(file, bytes);
        expect(judge(file).ok).toBe(false);
      }),
      { numRuns: 300 },
    );
  });

  it('with its lines in any other order or number is broken', () => {
    const file = trailOf(6);
    const lines = linesOf(file);
    const whole = lines.join();
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...lines), { maxLength: 10 }), (others) => {
        fc.pre(others.join() !== whole);
        put(file, others);
        expect(judge(file).ok).toBe(false);
      }),
      { numRuns: 200 },
    );
  });

  it('is compared with a line that was noted elsewhere', () => {
    const file = trailOf(10);
    const noted = { seq: 7, hash: JSON.parse(linesOf(file)[6] ?? '').hash };
    expect(judgeTrail(trailFiles(file), [noted]).ok).toBe(true);
    // Whoever owns the home can write all of it anew, the head too.
    put(file, forge(10));
    rmSync(headOf(file));
    writeFileSync(headOf(file), `000000000000010 ${JSON.parse(forge(10)[9] ?? '').hash}\n`);
    expect(judge(file).ok).toBe(true);
    expect(judgeTrail(trailFiles(file), [noted]).flaws[0]).toMatchObject({
      line: 7,
      what: expect.stringContaining('noted'),
    });
  });

  it('is compared with it also behind a forged acknowledgement, or one that came after the line was rewritten', () => {
    const file = trailOf(10);
    const noted = { seq: 7, hash: JSON.parse(linesOf(file)[6] ?? '').hash };
    put(file, forge(10));
    acknowledge(trailFiles(file), 'forged', AT);
    write(file, 1);
    expect(judge(file).ok).toBe(true);
    expect(judgeTrail(trailFiles(file), [noted]).ok).toBe(false);
    rmSync(join(dirname(file), 'audit'), { recursive: true });
    const body = `"at":"${AT}","kind":"audit-acknowledged","earlier":"${'0'.repeat(64)}","why":"x","n":1`;
    const { line, link } = seal({ seq: 20, hash: '0'.repeat(64) }, body, sha256);
    put(file, [line.trimEnd()]);
    mkdirSync(join(dirname(file), 'audit'));
    writeFileSync(headOf(file), `${String(link.seq).padStart(15, '0')} ${link.hash}\n`);
    expect(judge(file).ok).toBe(true);
    expect(judgeTrail(trailFiles(file), [noted]).flaws).toMatchObject([{ what: expect.stringContaining('number 7') }]);
  });
});

describe('the head', () => {
  it.each([
    ['missing', (head: string) => rmSync(head), /^audit\/head:null: the head is missing/],
    ['changed', (head: string) => writeFileSync(head, 'x'), /^audit\/head:null: .*it doesn’t name a line/],
    ['a directory', (head: string) => [rmSync(head), mkdirSync(head)], /^audit\/head:null: .*not a regular file/],
  ])('that is %s is a break', (_title, harm, expected) => {
    const file = trailOf(3);
    harm(headOf(file));
    expect(named(file)).toEqual([expect.stringMatching(expected)]);
    const audit = openAudit(file, CLOCK);
    expect(audit.trouble()).not.toBeNull();
    audit.close();
  });
});

describe('the full files', () => {
  const fullOf = (file: string) => readdirSync(dirname(headOf(file))).filter((name) => name.startsWith('audit-'));
  const pathOf = (file: string, name: string | undefined) => join(dirname(headOf(file)), name ?? '');

  it('are looked at, and a change in one is named', () => {
    const file = trailOf(20, 1000);
    const path = pathOf(file, fullOf(file)[1]);
    put(
      path,
      linesOf(path).map((line) => line.replace('example.org', 'example.com')),
    );
    expect(named(file)[0]).toMatch(/^audit-000002\.jsonl:1: number \d+ was changed/);
  });

  it('are missed where one is gone', () => {
    const file = trailOf(20, 1000);
    rmSync(pathOf(file, fullOf(file)[1]));
    expect(named(file)).toEqual([expect.stringMatching(/^audit-000003\.jsonl:1: lines number \d+–\d+ are missing/)]);
  });

  it('are named where one is empty, which the supervisor doesn’t go on behind either', () => {
    const file = trailOf(10, 600);
    writeFileSync(join(dirname(file), 'audit', 'audit-000999.jsonl'), '');
    expect(openAudit(file, CLOCK).trouble()).toMatch(/audit-000999/);
    expect(named(file)).toEqual([expect.stringMatching(/^audit-000999.jsonl:null: it has no line/)]);
  });

  it('are named where two have changed places, or one is no file', () => {
    const file = trailOf(20, 1000);
    const [a, b] = fullOf(file).map((name) => pathOf(file, name));
    renameSync(a ?? '', `${a}.x`);
    renameSync(b ?? '', a ?? '');
    renameSync(`${a}.x`, b ?? '');
    expect(named(file)[0]).toMatch(/^audit-000001\.jsonl:1: /);
    rmSync(a ?? '');
    mkdirSync(a ?? '');
    expect(named(file)[0]).toMatch(/^audit-000001\.jsonl:null: .*not a regular file/);
  });
});

describe('an acknowledged break', () => {
  const breakIt = (file: string) => put(file, without(4)(linesOf(file)));
  const goOn = (file: string) => {
    const audit = openAudit(file, CLOCK);
    expect(audit.trouble()).toBeNull();
    audit.record({ kind: 'egress', host: 'after.example' });
    audit.close();
  };

  it('stays named and lets the trail go on; nothing of what was there is changed', () => {
    const file = trailOf(10);
    breakIt(file);
    const before = readFileSync(file);
    const { keptAs, seq } = acknowledge(trailFiles(file), 'a line was missing', AT);
    expect(readFileSync(keptAs ?? '')).toEqual(before);
    expect(seq).toBe(11);
    goOn(file);
    const judged = judge(file);
    expect(judged).toMatchObject({ ok: true, flaws: [], lines: 11, last: { seq: 12 } });
    expect(judged.acknowledged).toMatchObject([
      { file: 'audit-000001.jsonl', line: 4 },
      { file: 'audit.jsonl', line: 1, what: 'acknowledged: a line was missing' },
    ]);
    expect(JSON.parse(linesOf(file)[0] ?? '')).toMatchObject({ kind: 'audit-acknowledged', why: 'a line was missing' });
  });

  it.each([
    ['a tail that is cut off', (file: string) => put(file, without(9, 10)(linesOf(file)))],
    ['a file that is gone', (file: string) => rmSync(file)],
    ['a file that is half a line', (file: string) => writeFileSync(file, '{"seq":')],
    ['a directory in its place', (file: string) => [rmSync(file), mkdirSync(file)]],
    ['no head', (file: string) => rmSync(headOf(file))],
    ['a head that is a directory', (file: string) => [rmSync(headOf(file)), mkdirSync(headOf(file))]],
    ['a long head', (file: string) => writeFileSync(headOf(file), 'x'.repeat(500))],
  ])('may be %s', (_title, harm) => {
    const file = trailOf(10);
    harm(file);
    expect(judge(file).ok).toBe(false);
    acknowledge(trailFiles(file), 'why', AT);
    goOn(file);
    const judged = judge(file);
    expect(judged).toMatchObject({ ok: true, flaws: [] });
    expect(judged.last.seq).toBeGreaterThan(2);
  });

  it('doesn’t cover what is done to the old files later', () => {
    const file = trailOf(10);
    breakIt(file);
    const { keptAs } = acknowledge(trailFiles(file), 'why', AT);
    goOn(file);
    put(keptAs ?? '', without(7)(linesOf(keptAs ?? '')));
    expect(named(file).at(-1)).toMatch(/^audit\.jsonl:1: the files before this acknowledgement have changed/);
  });

  it('may be followed by another one', () => {
    const file = trailOf(10);
    breakIt(file);
    acknowledge(trailFiles(file), 'one', AT);
    write(file, 5);
    breakIt(file);
    expect(judge(file).ok).toBe(false);
    acknowledge(trailFiles(file), 'two', AT);
    goOn(file);
    expect(judge(file)).toMatchObject({ ok: true });
    expect(judge(file).acknowledged.length).toBeGreaterThanOrEqual(2);
  });

  it('can’t be forged into a trail to hide a removal', () => {
    const file = trailOf(10);
    const copy = `${file}.copy`;
    copyFileSync(file, copy);
    put(file, without(9, 10)(linesOf(file)));
    const forged = seal(
      { seq: 10, hash: '0'.repeat(64) },
      `"at":"${AT}","kind":"audit-acknowledged","earlier":"${'0'.repeat(64)}"`,
      sha256,
    );
    put(file, [...linesOf(file), forged.line.trimEnd()]);
    expect(judge(file).ok).toBe(false);
  });
});
