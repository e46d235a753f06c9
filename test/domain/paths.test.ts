/** Container and host agree on what a path means, and nothing outside the mounts has a place. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { toContainer, toHost } from '../../src/domain/paths.ts';

const MOUNTS = [
  { target: '/workspace/group', source: '/home/h/groups/lobby', mode: 'rw' },
  { target: '/workspace/agent', source: '/home/h/agents/a/workspace', mode: 'ro' },
  { target: '/workspace/agents/b', source: '/home/h/agents/b/workspace', mode: 'ro' },
  { target: '/workspace/group/inner', source: '/srv/inner', mode: 'ro' },
] as const;

const TO_HOST: readonly [container: string, host: string][] = [
  ['/workspace/group', '/home/h/groups/lobby'],
  ['/workspace/group/a.txt', '/home/h/groups/lobby/a.txt'],
  ['/workspace//group/./x/', '/home/h/groups/lobby/x'],
  ['/workspace/group/x/../y', '/home/h/groups/lobby/y'],
  ['/workspace/agent/z', '/home/h/agents/a/workspace/z'],
  ['/workspace/agents/b/z', '/home/h/agents/b/workspace/z'],
  ['/workspace/group/inner/z', '/srv/inner/z'],
  ['/workspace/group/innermost', '/home/h/groups/lobby/innermost'],
];

const REFUSED: readonly [path: string, reason: RegExp][] = [
  ['relative', /not an absolute path/],
  ['', /not an absolute path/],
  ['/workspace/group/../../../etc', /above the root/],
  ['/..', /above the root/],
  ['/workspace/group/../../.env', /no directory shared/],
  ['/workspace/group/\0', /NUL/],
  ['/etc/passwd', /no directory shared/],
  ['/workspace', /no directory shared/],
  ['/workspace/groups', /no directory shared/],
  ['/proc/self/environ', /no directory shared/],
];

describe('paths', () => {
  it.each(TO_HOST)('%s is %s on the host', (container, host) => {
    expect(toHost(MOUNTS, container)).toMatchObject({ ok: true, host });
  });

  it.each(REFUSED)('%j has no place on the host', (path, reason) => {
    expect(toHost(MOUNTS, path)).toMatchObject({ ok: false, reason: expect.stringMatching(reason) });
  });

  it('names the mount and the way beneath it', () => {
    expect(toHost(MOUNTS, '/workspace/group/a/../b/c')).toEqual({
      ok: true,
      host: '/home/h/groups/lobby/b/c',
      mount: MOUNTS[0],
      relative: ['b', 'c'],
    });
  });

  it('tells how the container calls a host path', () => {
    expect(toContainer(MOUNTS, '/home/h/agents/b/workspace/x')).toMatchObject({ container: '/workspace/agents/b/x' });
  });

  it.each([
    ['/home/h/.env', /not visible/],
    ['/home/h/groups/lobby2/x', /not visible/],
    ['/home/h/groups/lobby/inner/x', /covered by another mount/],
    ['/home/h/groups/lobby/../../.env', /not visible/],
  ])('%s is nothing that the container sees', (path, reason) => {
    expect(toContainer(MOUNTS, path)).toMatchObject({ ok: false, reason: expect.stringMatching(reason) });
  });

  it('lands beneath the source of its mount, whatever the path', () => {
    const part = fc.constantFrom('..', '.', '', 'a', 'group', 'workspace', 'agents', 'b', '\0');
    fc.assert(
      fc.property(fc.array(part, { maxLength: 12 }), (parts) => {
        const place = toHost(MOUNTS, `/workspace/group/${parts.join('/')}`);
        if (!place.ok) return;
        expect(place.host === place.mount.source || place.host.startsWith(`${place.mount.source}/`)).toBe(true);
        expect(place.host.split('/')).not.toContain('..');
        expect(toContainer(MOUNTS, place.host)).toMatchObject({ ok: true, relative: place.relative });
      }),
    );
  });
});
