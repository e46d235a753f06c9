/** The audit trail keeps every event on a line of its own, bounded and harmless to look at. */
import { appendFileSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AUDIT_LINE_BYTES_MAX, openAudit } from '../src/audit.ts';

const CLOCK = () => Date.UTC(2026, 0, 2, 3, 4, 5);
let base = '';
beforeAll(() => {
  base = mkdtempSync(join(tmpdir(), 'audit-'));
});
afterAll(() => rmSync(base, { recursive: true, force: true }));

const newFile = () => join(mkdtempSync(join(base, 'home-')), 'data', 'audit.jsonl');
const linesOf = (file: string) => readFileSync(file, 'utf8').split('\n').slice(0, -1);

describe('audit', () => {
  it('has the event in the file when record returns, readable by the owner alone', () => {
    const file = newFile();
    const audit = openAudit(file, CLOCK);
    audit.record({ kind: 'request-refused', group: 'local:x', reason: 'no', count: 2 });
    expect(linesOf(file)).toEqual([
      '{"at":"2026-01-02T03:04:05.000Z","kind":"request-refused","group":"local:x","reason":"no","count":2}',
    ]);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    audit.close();
  });

  it('appends to what is there and tightens its permissions', () => {
    const file = newFile();
    openAudit(file, CLOCK).close();
    writeFileSync(file, '{"kind":"old"}\n', { mode: 0o644 });
    const audit = openAudit(file, CLOCK);
    audit.record({ kind: 'new' });
    audit.close();
    expect(linesOf(file)).toHaveLength(2);
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  it('begins a new line after one that a dead process left torn', () => {
    const file = newFile();
    openAudit(file, CLOCK).close();
    appendFileSync(file, '{"kind":"to');
    const audit = openAudit(file, CLOCK);
    audit.record({ kind: 'whole' });
    audit.close();
    const [torn, whole] = linesOf(file);
    expect(torn).toBe('{"kind":"to');
    expect(JSON.parse(whole ?? '')).toMatchObject({ kind: 'whole' });
  });

  it.each([
    ['a huge text', { detail: 'x'.repeat(1_000_000) }],
    ['a text of wide characters', { detail: '\u4e2d'.repeat(100_000) }],
    ['a text that doubles when escaped', { detail: '\u0000'.repeat(100_000) }],
    ['many details', Object.fromEntries(Array.from({ length: 5000 }, (_, n) => [`k${n}`, 'y'.repeat(100)]))],
  ])('bounds the line for %s', (_title, details) => {
    const file = newFile();
    const audit = openAudit(file, CLOCK);
    audit.record({ group: 'local:x', ...details, kind: 'big' });
    audit.close();
    const [line = ''] = linesOf(file);
    expect(Buffer.byteLength(line)).toBeLessThan(AUDIT_LINE_BYTES_MAX);
    expect(JSON.parse(line)).toMatchObject({ kind: 'big', group: 'local:x' });
  });

  it('escapes whatever could break a line or steer a terminal', () => {
    const file = newFile();
    const audit = openAudit(file, CLOCK);
    const nasty = 'a\n{"kind":"forged"}\r\u001b[2J\u009b\u202e\u2028z';
    audit.record({ kind: 'k', nasty, at: 'forged' });
    audit.close();
    const raw = readFileSync(file, 'utf8');
    expect(raw.trimEnd()).toMatch(/^[\x20-\x7e]+$/);
    expect(JSON.parse(raw)).toEqual({ at: '2026-01-02T03:04:05.000Z', kind: 'k', nasty });
  });

  it('never writes through a link', () => {
    const file = newFile();
    openAudit(file, CLOCK).close();
    const link = `${file}.link`;
    symlinkSync(file, link);
    expect(() => openAudit(link, CLOCK)).toThrow(/ELOOP/);
  });

  it('refuses to record once it is closed, and closes twice', () => {
    const audit = openAudit(newFile(), CLOCK);
    audit.close();
    audit.close();
    expect(() => audit.record({ kind: 'late' })).toThrow(/closed/);
  });
});
