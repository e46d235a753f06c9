/** The list of probes: every one says where it must hold and why, and the list is as long as was promised. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { EVERY_TIER } from '../../src/domain/tiers.ts';
import { packageRoot } from '../../src/package-root.ts';
import { renderList } from '../../src/redteam/matrix.ts';
import { RUNTIME_NAMES } from '../../src/redteam/probe.ts';
import { PROBES } from '../../src/redteam/probes/index.ts';

const built = PROBES.filter((probe) => probe.kind !== 'absent');
const files = readdirSync(join(packageRoot(), 'src', 'redteam', 'probes')).map((name) => name.replace(/\.ts$/, ''));
const LISTS = ['absent', 'host', 'index', 'inside'];

describe('the probes', () => {
  it('are at least sixty that can be tried, and more', () => {
    expect(built.length).toBeGreaterThanOrEqual(60);
    expect(built.filter(({ kind }) => kind === 'inside').length).toBeGreaterThanOrEqual(45);
    expect(built.filter(({ kind }) => kind === 'host').length).toBeGreaterThanOrEqual(20);
  });

  it('have ids of their own, each the name of its file', () => {
    expect(new Set(PROBES.map(({ id }) => id)).size).toBe(PROBES.length);
    expect(files.filter((name) => !LISTS.includes(name)).toSorted()).toEqual(built.map(({ id }) => id).toSorted());
  });

  it.each(built)(
    '$id says in which tiers it must fail, and why not in the others',
    ({ expected, elsewhere, control }) => {
      for (const runtime of RUNTIME_NAMES) {
        expect(expected[runtime].length).toBeGreaterThan(0);
        const isWhole = EVERY_TIER.every((tier) => expected[runtime].includes(tier));
        expect(elsewhere === undefined).toBe(isWhole);
      }
      if (control.kind === 'none') expect(control.reason.length).toBeGreaterThan(20);
    },
  );

  it('mostly have a control', () => {
    expect(built.filter(({ control }) => control.kind !== 'none').length / built.length).toBeGreaterThan(0.75);
  });

  it('are described whole by the list', () => {
    const list = renderList(PROBES);
    for (const { id, tries, why } of PROBES) for (const text of [id, tries, why]) expect(list).toContain(text);
  });
});
