/** Builds small images on a real engine, on the base that scripts/base-image.sh makes. */
import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readEnvironment } from '../../src/config.ts';
import { engineSocket, openEngine } from '../../src/runtimes/engine.ts';
import { ensureImage } from '../../src/runtimes/image.ts';

const engine = openEngine(engineSocket({ dockerHost: readEnvironment().dockerHost }));
/** On every layer that is made here, those of failed builds included. */
const MARKER = randomBytes(8).toString('hex');
const DOCKERFILE = `ARG BASE=none
FROM \${BASE}
LABEL tierclaw.test=${MARKER}
ARG UID=0
COPY runner.mjs /opt/runner.mjs
RUN echo one && echo two && printf 'thr' && sleep 0.2 && echo ee
RUN echo "warmed as \${UID}" && stat -c '%a %u %g' /opt/runner.mjs
USER \${UID}:\${UID}
`;

const made = new Set<string>();
let scratch = '';

beforeAll(async () => {
  scratch = await mkdtemp(join(tmpdir(), 'image-'));
});
afterAll(async () => {
  for (const tag of made) await engine.patient.getImage(tag).remove({ force: true });
  const left = await engine.quick.listImages({ filters: { label: [`tierclaw.test=${MARKER}`] } });
  for (const image of left) await engine.patient.getImage(image.Id).remove({ force: true });
  engine.close();
  await rm(scratch, { recursive: true });
});

/** A package's root whose runner no other run has. */
const rootWith = async (dockerfile: string): Promise<string> => {
  const root = await mkdtemp(join(scratch, 'root-'));
  await Promise.all([mkdir(join(root, 'container')), mkdir(join(root, 'dist'))]);
  await writeFile(join(root, 'container', 'Dockerfile'), dockerfile);
  await writeFile(join(root, 'dist', 'runner.mjs'), `// ${randomBytes(8).toString('hex')}`);
  await writeFile(join(root, 'dist', 'web-fetch.mjs'), '// fetches');
  return root;
};

const ensure = async (root: string, onProgress?: (line: string) => void) => {
  const image = await ensureImage({ engine, uid: 10_001, root, onProgress });
  made.add(image.tag);
  return image;
};

describe('the agent image', () => {
  it('is built once for the same inputs, and again for others', async () => {
    const root = await rootWith(DOCKERFILE);
    const lines: string[] = [];
    const first = await ensure(root, (line) => lines.push(line));
    expect(first).toMatchObject({ built: true, tag: expect.stringMatching(/^tierclaw-agent:[0-9a-f]{16}$/) });
    expect(lines).toEqual(expect.arrayContaining(['one', 'two', 'three', 'warmed as 10001', '444 0 0']));
    expect(await ensure(root)).toMatchObject({ built: false, tag: first.tag });

    const { Config } = await engine.quick.getImage(first.tag).inspect();
    expect(Config.User).toBe('10001:10001');

    await writeFile(join(root, 'dist', 'runner.mjs'), '// another');
    const second = await ensure(root);
    expect(second.built).toBe(true);
    expect(second.tag).not.toBe(first.tag);
  });

  it('that can’t be built says why with the last lines, and leaves no container', async () => {
    const marker = randomBytes(8).toString('hex');
    const root = await rootWith(`${DOCKERFILE}RUN echo "before ${marker}" && false\n`);
    await expect(ensure(root)).rejects.toMatchObject({
      code: 'image',
      message: expect.stringMatching(new RegExp(`returned a non-zero code: 1[^]*before ${marker}`)),
    });
    const left = await engine.quick.listContainers({ all: true });
    expect(left.filter((container) => container.Command.includes(marker))).toEqual([]);
  });

  it('whose Dockerfile is none is refused as such', async () => {
    const root = await rootWith('NONSENSE here\n');
    await expect(ensure(root)).rejects.toMatchObject({ code: 'image', message: expect.stringContaining('NONSENSE') });
  });

  it('needs its base', async () => {
    const root = await rootWith(DOCKERFILE);
    const request = { engine, base: 'tierclaw-base:no-such', uid: 10_001, root };
    await expect(ensureImage(request)).rejects.toMatchObject({
      code: 'image',
      message: expect.stringContaining('tierclaw-base:no-such'),
      hint: './scripts/base-image.sh',
    });
  });

  it.each(['runner.mjs', 'web-fetch.mjs'])('needs the bundled %s', async (program) => {
    const root = await rootWith(DOCKERFILE);
    await rm(join(root, 'dist', program));
    await expect(ensure(root)).rejects.toMatchObject({ code: 'image', hint: 'npm run build' });
  });
});
