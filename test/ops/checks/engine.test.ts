/** What the doctor makes of an engine's own account, of its image and of runc's version. */
import { describe, expect, test } from 'vitest';
import { judgeApi, judgeCgroup, judgePlace, judgeRunc, judgeSecurity } from '../../../src/ops/checks/engine.ts';
import { judgeBase, judgeImage } from '../../../src/ops/checks/image.ts';
import { openEscapes } from '../../../src/ops/checks/runc.ts';
import type { EngineReport } from '../../../src/runtimes/runtime.ts';
import { check, ENGINE, examined, known, unknown } from '../examined.ts';

const machine = (spoiled: Partial<EngineReport['machine']>): EngineReport => ({
  ...ENGINE,
  machine: { ...ENGINE.machine, ...spoiled },
});

const OF_2024 = 'CVE-2024-21626';
const OF_2025 = ['CVE-2025-31133', 'CVE-2025-52565', 'CVE-2025-52881'];

describe('runc', () => {
  test.each([
    ['1.0.3', [OF_2024, ...OF_2025]],
    ['1.1.5+ds1', [OF_2024, ...OF_2025]],
    ['1.1.11', [OF_2024, ...OF_2025]],
    ['1.1.12', OF_2025],
    ['1.1.15-0ubuntu1', OF_2025],
    ['v1.2.7', OF_2025],
    ['1.2.8', []],
    ['1.2.10', []],
    ['1.3.0', OF_2025],
    ['1.3.0~rc.1', OF_2025],
    ['1.3.2', OF_2025],
    ['1.3.3', []],
    ['1.4.0-rc.2', OF_2025],
    ['1.4.0-rc.3', []],
    ['1.4.0', []],
    ['2.0.0', []],
  ])('%s has no fix for %j', (version, cves) => {
    expect(openEscapes(version)).toEqual(cves);
  });

  test.each(['', 'unknown', '1.1'])('"%s" is no version', (version) => {
    expect(openEscapes(version)).toBeNull();
  });

  test('of an old version is a warning that speaks of backports', () => {
    expect(judgeRunc(machine({ runc: '1.1.5' }))).toMatchObject({
      status: 'warn',
      found: expect.stringMatching(/older than the fix of CVE-2024-21626.*the distribution may have backported it/),
    });
    expect(judgeRunc(machine({ runc: '1.3.3' })).status).toBe('ok');
    expect(judgeRunc(machine({ runc: null })).status).toBe('warn');
  });
});

describe('an engine', () => {
  test.each([
    ['1.40', 'fail'],
    ['1.41', 'ok'],
    ['1.51', 'ok'],
    ['2.0', 'ok'],
  ])('with API %s: %s', (apiVersion, status) => {
    expect(judgeApi({ ...ENGINE, apiVersion }).status).toBe(status);
  });

  test.each<[string, EngineReport]>([
    ['of Docker Desktop', { ...machine({ operatingSystem: 'Docker Desktop' }), name: 'Docker Desktop 4.40' }],
    ['on another kernel', machine({ kernel: '5.15.0-linuxkit' })],
    ['on a kernel with another number', machine({ kernel: '5.15.0' })],
  ])('%s can’t carry a socket', (_, report) => {
    expect(judgePlace(report, '6.1.0-13-amd64')).toMatchObject({
      status: 'fail',
      hint: expect.stringContaining('run the supervisor inside that machine'),
    });
  });

  test('on this kernel can', () => {
    expect(judgePlace(machine({ kernel: '6.1.0-13-amd64' }), '6.1.0-13-amd64').status).toBe('ok');
  });

  test.each([
    ['without seccomp', [], 'fail'],
    ['without root', ['name=seccomp,profile=builtin', 'name=rootless'], 'warn'],
    ['with mapped users', ['name=seccomp,profile=default', 'name=userns'], 'warn'],
    ['as it should be', ['name=seccomp,profile=default'], 'ok'],
  ])('%s', (_, securityOptions, status) => {
    expect(judgeSecurity(machine({ securityOptions })).status).toBe(status);
  });

  test('that says nothing of cgroups is a warning', () => {
    expect(judgeCgroup(machine({ cgroupVersion: null })).status).toBe('warn');
    expect(judgeCgroup(machine({ cgroupVersion: '1' }))).toMatchObject({ status: 'ok', found: 'version 1' });
  });

  test('that isn’t reached is named with its own hint, once', async () => {
    const engine = unknown('the container engine can’t be reached at /x.sock (ENOENT)', './scripts/engine.sh');
    const patient = await examined({ engine });
    expect(await check('engine', patient)).toMatchObject({ status: 'fail', hint: './scripts/engine.sh' });
    expect(await check('runc', patient)).toMatchObject({ status: 'warn', hint: expect.stringContaining('/x.sock') });
  });
});

describe('limits that the engine would discard', () => {
  test.each([
    [['swap'], 'untrusted (swap)'],
    [['cpus'], 'untrusted (cpus)'],
  ])('%j stop the tiers that rely on them', async (discards, words) => {
    const result = await check('limits', await examined({ engine: known({ ...ENGINE, discards }) }));
    expect(result).toMatchObject({ status: 'fail', hint: expect.stringContaining('cgroup_enable=memory') });
    expect(result.found).toContain(words);
    expect(result.found).not.toContain('main');
  });

  test('count in every tier where the home’s ceiling needs them', async () => {
    const result = await check('limits', await examined({ engine: known({ ...ENGINE, discards: ['pids'] }) }));
    expect(result.found).toMatch(/main \(pids\); trusted \(pids\); untrusted \(pids\)/);
  });

  test('are a warning where nobody needs them', async () => {
    const engine = known({ ...ENGINE, discards: ['unheard-of'] });
    expect(await check('limits', await examined({ engine }))).toMatchObject({ status: 'warn' });
    expect(await check('limits', await examined())).toMatchObject({ status: 'ok' });
  });
});

describe('the image', () => {
  const tag = 'tierclaw-agent:a';
  const current = (other = tag) => known({ tag: other, base: 'base', baseCreatedAt: '2026-01-01T00:00:00Z' });
  const found = { createdAt: null };

  test.each([
    ['that the engine lacks', { tag, found: null, current: current() }, 'fail'],
    ['of other sources', { tag, found, current: current('tierclaw-agent:b') }, 'warn'],
    ['that can’t be built again', { tag, found, current: unknown('no base') }, 'warn'],
    ['that is up to date', { tag, found, current: current() }, 'ok'],
  ])('%s', (_, image, status) => {
    const finding = judgeImage(image);
    expect(finding.status).toBe(status);
    if (status !== 'ok') expect(finding.hint).toBe('tierclaw image build');
  });

  test('whose record is broken is a failure, unless it is the engine that says nothing', async () => {
    const image = unknown('image.json is not a record of an image', 'tierclaw image build');
    const hint = 'tierclaw image build';
    expect(await check('image', await examined({ image }))).toMatchObject({ status: 'fail', hint });
    expect((await check('image', await examined({ image, engine: unknown('no engine') }))).status).toBe('warn');
  });

  test.each([
    ['young', '2026-03-01T00:00:00Z', 'ok'],
    ['old', '2026-06-01T00:00:00Z', 'warn'],
  ])('on a base that is %s', (_, now, status) => {
    expect(judgeBase({ tag, found, current: current() }, Date.parse(now)).status).toBe(status);
  });

  test('on a base of unknown age, or on none', () => {
    const ageless = known({ tag, base: 'base', baseCreatedAt: null });
    expect(judgeBase({ tag, found, current: ageless }, 0).found).toContain('doesn’t say how old');
    const none = unknown('no base image', './scripts/base-image.sh');
    expect(judgeBase({ tag, found, current: none }, 0)).toMatchObject({
      status: 'warn',
      hint: './scripts/base-image.sh',
    });
  });
});
