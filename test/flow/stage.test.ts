/** What stands where a turn's instructions are looked for: read when it is a plain file, said when it isn't. */
import { execFileSync } from 'node:child_process';
import { linkSync, mkdirSync, readFileSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ulid } from 'ulid';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openAudit } from '../../src/audit.ts';
import { loadConfig } from '../../src/config.ts';
import { InvocationId } from '../../src/domain/ids.ts';
import { DEFAULT_TIER } from '../../src/domain/tiers.ts';
import { stage } from '../../src/flow/stage.ts';
import { createTiles } from '../../src/flow/tiles.ts';
import { type Home, turnDirectories } from '../../src/home.ts';
import { composedTilesDirectory, exampleGroup, planFor } from '../../src/planning.ts';
import { createCopier } from '../../src/store/copier.ts';
import { freshStores } from '../store/fixture.ts';

const SECRET = 'never to be read';

const copierOf = (home: Home) => {
  const workerFile = new URL('../../dist/copy-worker.mjs', import.meta.url);
  const copier = createCopier({ workerFile, home, windowMessages: 100, publishEveryMs: 1000, clock: Date.now });
  onTestFinished(() => copier.close());
  return copier;
};

const setUp = async () => {
  const { home, clock } = freshStores();
  const audit = openAudit(home.auditFile, clock.read);
  const group = exampleGroup(DEFAULT_TIER);
  const folder = join(home.groups, group.folder);
  mkdirSync(folder, { recursive: true });
  mkdirSync(home.global, { recursive: true });
  writeFileSync(join(home.global, 'SOUL-untrusted.md'), 'I am public.');
  writeFileSync(join(home.dir, 'secret'), SECRET);
  const invocation = InvocationId.parse(ulid());
  const plan = planFor({ home, config: await loadConfig(home), image: 'none' }, group, invocation);
  const tiles = createTiles({
    source: new URL('../../tiles', import.meta.url).pathname,
    target: (row) => composedTilesDirectory(home, row),
    trash: home.trash,
    newId: ulid,
  });
  const deps = { home, copier: copierOf(home), tiles, audit, trustWarning: 'Careful.' };
  const directories = turnDirectories(home, group.folder, invocation);
  const instructions = async (): Promise<string> => {
    const staged = await stage({ plan, directories, notBefore: 0 }, deps);
    expect(await staged.store).toEqual({ ok: true });
    return staged.instructions;
  };
  const recorded = (): string => readFileSync(home.auditFile, 'utf8');
  return { home, folder, at: (name: string) => join(folder, name), instructions, recorded };
};

describe('the group’s own instructions', () => {
  it('are read from a plain file', async () => {
    const { at, instructions, recorded } = await setUp();
    writeFileSync(at('CLAUDE.md'), 'Speak in rhymes.');
    expect(await instructions()).toContain('# Instructions of this group\n\nSpeak in rhymes.');
    expect(recorded()).toBe('');
  });

  it('may be missing', async () => {
    const { instructions, recorded } = await setUp();
    expect(await instructions()).not.toContain('Instructions of this group');
    expect(recorded()).toBe('');
  });

  it.each([
    ['a link', 'a symbolic link', (path: string, secret: string) => symlinkSync(secret, path)],
    ['a hard link', '2 hard links', (path: string, secret: string) => linkSync(secret, path)],
    ['a FIFO', 'not a regular file', (path: string) => execFileSync('mkfifo', [path])],
    ['a directory', 'a directory', (path: string) => mkdirSync(path)],
    [
      'a sparse file of 5 GB',
      'at most 262144 are allowed',
      (path: string) => {
        writeFileSync(path, '');
        truncateSync(path, 5 * 1024 ** 3);
      },
    ],
  ])('are not read from %s: recorded, said to the agent, and the turn goes on', async (_, words, plant) => {
    const { home, at, instructions, recorded } = await setUp();
    plant(at('CLAUDE.md'), join(home.dir, 'secret'));
    const told = await instructions();
    expect(told).toContain('could not be used');
    expect(told).toContain(words);
    expect(told).not.toContain(SECRET);
    expect(recorded()).toMatch(/"kind":"instructions-refused".*"detail"/);
  });
});

describe('the persona', () => {
  it('is never gone without: a link in its place stops the turn', async () => {
    const { home, instructions } = await setUp();
    execFileSync('ln', ['-sf', join(home.dir, 'secret'), join(home.global, 'SOUL-untrusted.md')]);
    await expect(instructions()).rejects.toMatchObject({
      code: 'config',
      message: expect.stringContaining('symbolic'),
    });
  });
});
