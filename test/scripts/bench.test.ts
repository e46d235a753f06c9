/** What the benches reckon with and how they say it; the figures themselves are no test's business. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { atMost, type Result, ratioAtMost } from '../../scripts/bench/bench.ts';
import { dockerRunArguments, seccompProfile } from '../../scripts/bench/docker-run.ts';
import { formatNumber, renderReport } from '../../scripts/bench/report.ts';
import { figure, interleave, median, ratio } from '../../scripts/bench/statistics.ts';
import { DEFAULT_TIER, tierRow } from '../../src/domain/tiers.ts';
import { createOptions } from '../../src/runtimes/docker-create.ts';

describe('the median', () => {
  it.each([
    [[7], 7],
    [[3, 1, 2], 2],
    [[4, 1, 3, 2], 2.5],
    [[10, 9, 2, 1], 5.5],
    [[1, 1, 1_000_000], 1],
  ])('of %j is %d', (values, expected) => {
    expect(median(values)).toBe(expected);
  });

  it('of nothing is refused', () => {
    expect(() => median([])).toThrow(RangeError);
  });

  it('has as many measurements below as above it, and leaves them as they are', () => {
    fc.assert(
      fc.property(fc.array(fc.integer(), { minLength: 1 }), (values) => {
        const before = [...values];
        const middle = median(values);
        const [below, above] = [values.filter((one) => one < middle), values.filter((one) => one > middle)];
        expect(Math.max(below.length, above.length)).toBeLessThanOrEqual(values.length / 2);
        expect(values).toEqual(before);
      }),
    );
  });
});

describe('a figure', () => {
  it('keeps median, extremes and count', () => {
    expect(figure('a', 'ms', [3, 1, 8])).toEqual({ name: 'a', unit: 'ms', median: 3, least: 1, most: 8, runs: 3 });
  });

  it('compares by medians, not by extremes', () => {
    expect(ratio(figure('a', 'ms', [1, 3, 90]), figure('b', 'ms', [1, 2, 2]))).toBe(1.5);
  });

  it('can’t be compared with one that took no time', () => {
    expect(() => ratio(figure('a', 'ms', [1]), figure('b', 'ms', [0]))).toThrow('"b"');
  });
});

describe('taking turns', () => {
  it('does each piece of work once a round, every other round backwards', async () => {
    const done: string[] = [];
    const work = ['a', 'b', 'c'].map((name) => async () => void done.push(name));
    await interleave(3, work);
    expect(done.join('')).toBe('abc' + 'cba' + 'abc');
  });
});

describe('a bar', () => {
  it.each([
    [1.29, true],
    [1.3, true],
    [1.31, false],
  ])('at 1.3 and a measured %d: held is %s', (measured, ok) => {
    expect(atMost('x', measured, { bar: 1.3, unit: '×' })).toEqual({ what: 'x', measured, bar: 1.3, unit: '×', ok });
  });

  it('on a ratio names both of its figures', () => {
    const check = ratioAtMost(figure('ours', 'ms', [4]), figure('theirs', 'ms', [2]), 1.5);
    expect(check).toMatchObject({ what: 'ours ÷ theirs', measured: 2, ok: false });
  });
});

describe('the report', () => {
  it.each([
    [0, '0'],
    [0.0261, '0.0261'],
    [0.000_04, '0.0000'],
    [1.256, '1.26'],
    [56.78, '56.8'],
    [345.6, '346'],
    [123_456, '123456'],
  ])('writes %d as %s', (value, text) => {
    expect(formatNumber(value)).toBe(text);
  });

  const result = (measured: number): Result => ({
    name: 'gateway',
    title: 'a request',
    checks: [atMost('ours ÷ bare', measured, { bar: 1.3, unit: '×' })],
    figures: [figure('ours', 'ms', [1, 2, 3]), figure('bare', 'µs', [1000])],
    notes: ['a note'],
  });
  const report = (...results: Result[]): string => renderReport({ machine: { cpu: 'a cpu, 2 cores' }, results });

  it('has the ratios first, then the figures, their notes and the machine', () => {
    expect(report(result(1.2))).toBe(
      [
        '   measured  bar       bench    what',
        '✓  1.20 ×    ≤ 1.30 ×  gateway  ours ÷ bare',
        '',
        'all 1 bars held',
        '',
        'gateway: a request',
        '        median   least … most  runs',
        '  ours  2.00 ms  1.00 … 3.00   3',
        '  bare  1000 µs  1000 … 1000   1',
        '  a note',
        '',
        'machine',
        '  cpu  a cpu, 2 cores',
      ].join('\n'),
    );
  });

  it('marks what was missed, and counts it', () => {
    const text = report(result(1.2), result(1.5));
    expect(text).toMatch(/^✗ {2}1\.50 × .*MISSED$/m);
    expect(text).toMatch(/^✓ {2}1\.20 ×/m);
    expect(text).toContain('1 of 2 bars MISSED');
  });
});

describe('docker run with the flags of a turn', () => {
  const { limits } = tierRow(DEFAULT_TIER);
  const options = createOptions({
    name: 'x',
    image: 'image:tag',
    command: ['node', '-e', '0'],
    env: { HOME: '/tmp/home' },
    labels: {},
    uid: 10_001,
    workdir: '/workspace/group',
    mounts: [{ source: '/host/a', target: '/workspace/group', readOnly: true }],
    limits,
  });
  const flags = dockerRunArguments(options, '/seccomp.json');

  it('says everything that the create options say', () => {
    expect(flags.join(' ')).toBe(
      [
        '--interactive --no-healthcheck --user=10001:10001 --workdir=/workspace/group --hostname=agent --stop-timeout=2',
        '--env HOME=/tmp/home --init --read-only --network=none --ipc=none --cgroupns=private --log-driver=none',
        '--cap-drop ALL --security-opt no-new-privileges --security-opt seccomp=/seccomp.json',
        '--mount type=bind,source=/host/a,target=/workspace/group,bind-propagation=rprivate,readonly',
        '--tmpfs /dev/mqueue:ro,size=4k,mode=555',
        `--tmpfs /tmp:rw,nosuid,nodev,noexec,size=${limits.tmp?.bytes},nr_inodes=${limits.tmp?.inodes},mode=1777`,
        `--memory=${limits.memoryBytes} --memory-swap=${limits.memoryBytes} --cpus=${limits.cpus}`,
        `--pids-limit=${limits.pids} --oom-score-adj=500`,
        '--ulimit nofile=4096:4096 --ulimit core=0:0 --ulimit msgqueue=0:0',
        `--ulimit fsize=${limits.fileBytes}:${limits.fileBytes} image:tag`,
      ].join(' '),
    );
  });

  it('hands the seccomp profile over as a file', () => {
    expect(JSON.parse(seccompProfile(options) ?? '')).toHaveProperty('defaultAction');
  });
});
