/** What comes back from a container is text like any other: only whole lines of the right form count. */
import { describe, expect, it } from 'vitest';
import { readReports, reportLine } from '../../src/redteam/report-line.ts';

describe('the reports of a turn', () => {
  it('are read from between other output, the first word of a probe first', () => {
    const first = reportLine('a', { reached: true, evidence: 'in' });
    const output = [
      'noise',
      first,
      reportLine('a', { reached: false, evidence: 'out' }),
      'x@probe ["b",{"missing":"m"}]',
    ];
    expect([...readReports(output.join('\n'))].toSorted()).toEqual([
      ['a', { reached: true, evidence: 'in' }],
      ['b', { missing: 'm' }],
    ]);
  });

  it.each([
    '@probe ["a",{"reached":"yes","evidence":""}]',
    '@probe ["a"',
    '@probe {"a":1}',
    '@probe ["a",{"reached":true}]',
  ])('leave out what has another form: %s', (line) => {
    expect(readReports(line).size).toBe(0);
  });

  it('hold a bounded line of evidence', () => {
    const line = reportLine('a', { reached: true, evidence: `x\n${'y'.repeat(5_000)}` });
    expect(line).not.toContain('\n');
    expect(line.length).toBeLessThan(400);
  });
});
