/** Clearing away on the real engine: former agent images, and a supervisor that works meanwhile. */
import { randomUUID } from 'node:crypto';
import Docker from 'dockerode';
import { execa } from 'execa';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { gc } from '../../src/commands/gc.ts';
import { type Engine, openEngine } from '../../src/runtimes/engine.ts';
import { collectImages } from '../../src/runtimes/image-retention.ts';
import { contextOf, type Installation, install } from './installation.ts';

const SOCKET = '/var/run/docker.sock';
const RUN_ID = randomUUID().slice(0, 8);
const REPOSITORY = 'tierclaw-gc-test';

describe('former images', () => {
  const docker = new Docker({ socketPath: SOCKET });
  let engine: Engine;
  beforeAll(() => {
    engine = openEngine(SOCKET);
  });
  afterAll(async () => {
    engine?.close();
    const images = await docker.listImages({ all: true });
    const own = images.flatMap(({ RepoTags }) => RepoTags ?? []).filter((name) => name.includes(RUN_ID));
    const marks = images
      .filter(({ RepoTags }) => RepoTags?.some((name) => own.includes(name)))
      .flatMap(({ RepoTags }) => RepoTags ?? []);
    for (const name of new Set([...own, ...marks])) await execa('docker', ['rmi', name], { reject: false });
  });

  /** An image of its own, some bytes large. */
  const make = async (name: string): Promise<string> => {
    const tag = `${REPOSITORY}:${RUN_ID}-${name}`;
    const tar = execa('tar', ['-cC', '/etc', 'hostname'], { encoding: 'buffer' });
    await tar.pipe('docker', ['import', '--change', `LABEL name=${tag}`, '--change', 'CMD ["/x"]', '-', tag]);
    return tag;
  };

  const namesOf = async (tag: string): Promise<readonly string[]> => {
    const found = await docker
      .getImage(tag)
      .inspect()
      .catch(() => null);
    return found?.RepoTags ?? [];
  };

  const collect = (home: string, used: readonly string[], more: { former?: number; dryRun?: boolean } = {}) =>
    collectImages({ engine, homeId: `/${RUN_ID}/${home}`, used, former: 1, dryRun: false, ...more });

  it('go once they are neither the current nor the one before; a second time there is nothing to do', async () => {
    const used = await Promise.all(['a4', 'a3', 'a2', 'a1'].map(make));
    expect(await collect('a', used, { dryRun: true })).toEqual({ found: 2, removed: 0 });
    expect(await collect('a', used)).toEqual({ found: 2, removed: 2 });
    expect((await Promise.all(used.map(namesOf))).map((names) => names.length > 0)).toEqual([true, true, false, false]);
    expect(await collect('a', used)).toEqual({ found: 0, removed: 0 });
    const [next = ''] = await Promise.all(['a5'].map(make));
    expect(await collect('a', [next, ...used])).toEqual({ found: 1, removed: 1 });
  });

  it('stay while another home has them', async () => {
    const [b3 = '', b2 = '', b1 = ''] = await Promise.all(['b3', 'b2', 'b1'].map(make));
    await collect('other', [b1]);
    expect(await collect('b', [b3, b2, b1])).toEqual({ found: 0, removed: 0 });
    expect(await namesOf(b1)).toContain(b1);
    await collect('other', [b3, b2, b1]);
    expect(await namesOf(b1)).toEqual([]);
  });

  it('stay while any container was made from them, running or not', async () => {
    const [c3 = '', c2 = '', c1 = ''] = await Promise.all(['c3', 'c2', 'c1'].map(make));
    const container = await docker.createContainer({ Image: c1, Labels: { 'tierclaw.test': RUN_ID } });
    expect(await collect('c', [c3, c2, c1])).toEqual({ found: 0, removed: 0 });
    await container.remove();
    expect(await collect('c', [c3, c2, c1])).toEqual({ found: 1, removed: 1 });
  });

  it('that are gone already are no matter, and names that somebody else gave stay', async () => {
    const [d3 = '', d2 = '', d1 = ''] = await Promise.all(['d3', 'd2', 'd1'].map(make));
    await docker.getImage(d1).tag({ repo: REPOSITORY, tag: `${RUN_ID}-mine` });
    const result = await collect('d', [d3, `${REPOSITORY}:${RUN_ID}-never`, d2, d1], { former: 2 });
    expect(result).toEqual({ found: 1, removed: 1 });
    expect(await namesOf(`${REPOSITORY}:${RUN_ID}-mine`)).toEqual([`${REPOSITORY}:${RUN_ID}-mine`]);
  });
});

describe('tierclaw gc beside a running supervisor', () => {
  let installation: Installation;
  beforeAll(async () => {
    installation = await install();
  });
  afterAll(() => installation?.close());

  it('disturbs no turn, and takes nothing that is needed', async () => {
    const { image } = installation.app.supervisor.status();
    const marksOf = async (): Promise<string[]> => {
      const { RepoTags } = await installation.docker.getImage(image).inspect();
      return RepoTags.filter((name) => name.startsWith('tierclaw-home:'));
    };
    const before = await marksOf();
    const turn = installation.say('main', 'run: sleep 2; echo undisturbed');
    await expect.poll(() => installation.containers().then((all) => all.length), { timeout: 10_000 }).toBe(1);
    const { data } = await gc(contextOf(installation.home), { dryRun: false });
    expect(data).toMatchObject({ failed: [], removed: 0 });
    expect((await turn).reply).toContain('undisturbed');
    expect((await installation.say('lobby', 'run: echo next')).reply).toContain('next');
    const marks = (await marksOf()).filter((name) => !before.includes(name));
    expect(marks).toHaveLength(1);
    for (const name of marks) await installation.docker.getImage(name).remove();
  });
});
