/** The measuring thread as the supervisor has it: there while it is needed, gone while nothing runs. */
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createMeasurer } from '../../src/files/measurer.ts';
import { packageRoot } from '../../src/package-root.ts';

const WORKER = join(packageRoot(), 'dist', 'measure-worker.mjs');

const threads = async (): Promise<number> => (await readdir('/proc/self/task')).length;

test('the thread ends when nothing is asked of it, and comes again when something is', async () => {
  const path = await mkdtemp(join(tmpdir(), 'tierclaw-measurer-'));
  const measurer = createMeasurer(WORKER, 100);
  onTestFinished(async () => {
    await measurer.close();
    await rm(path, { recursive: true });
  });
  await writeFile(join(path, 'file'), 'x');
  const before = await threads();
  for (let round = 0; round < 2; round += 1) {
    const measuring = measurer.measure({
      uid: 0,
      container: null,
      trees: [{ path, bounds: { bytes: null, files: null } }],
    });
    expect(await threads()).toBeGreaterThan(before);
    expect((await measuring).trees).toMatchObject([{ files: 1, walk: 'whole' }]);
    await expect.poll(threads, { timeout: 10_000 }).toBe(before);
  }
});
