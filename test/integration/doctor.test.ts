/** The doctor on a home in good order, and on homes that are each broken in one place: what it says is how to mend it. */
import { chmod, cp, mkdtemp, rm, symlink, unlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterEach, describe, expect, it } from 'vitest';
import { LABELS } from '../../src/domain/plan.ts';
import { EXIT_STATUS } from '../../src/errors.ts';
import type { Home } from '../../src/home.ts';
import { packageRoot } from '../../src/package-root.ts';
import { imageFile } from '../../src/planning.ts';
import { type Installation, type InstallationOptions, install, makeHome } from './installation.ts';

interface Result {
  readonly id: string;
  readonly status: string;
  readonly found: string;
  readonly hint: string | null;
}

describe('the doctor', () => {
  const closers: (() => Promise<unknown>)[] = [];
  afterEach(async () => {
    for (const close of closers.splice(0).reverse()) await close();
  });

  const homeWith = async (options: InstallationOptions = {}): Promise<Home> => {
    const home = await makeHome(options);
    closers.push(() => rm(home.dir, { recursive: true, force: true }));
    return home;
  };

  const tierclaw = (home: Home, words: readonly string[], root = packageRoot()) =>
    execa(process.execPath, [join(root, 'dist', 'cli.mjs'), '--home', home.dir, ...words], { reject: false });

  const diagnose = async (home: Home, root?: string) => {
    const { stdout, exitCode } = await tierclaw(home, ['doctor', '--json'], root);
    const { checks, ok }: { checks: Result[]; ok: boolean } = JSON.parse(stdout);
    const failed = checks.filter(({ status }) => status === 'fail');
    expect(ok).toBe(failed.length === 0);
    expect(exitCode).toBe(ok ? 0 : EXIT_STATUS.config);
    return { checks, failed, one: (id: string) => checks.find((check) => check.id === id) };
  };

  it('finds nothing to mend in a home in good order, with its supervisor running', async () => {
    const installation: Installation = await install();
    closers.push(installation.close);
    const { checks, failed, one } = await diagnose(installation.home);
    expect(failed).toEqual([]);
    expect(checks.length).toBeGreaterThan(25);
    for (const id of ['engine', 'image', 'limits', 'supervisor', 'leftovers', 'provider', 'database:state', 'config']) {
      expect(one(id)).toMatchObject({ id, status: 'ok', hint: null });
    }
    const { stdout, exitCode } = await tierclaw(installation.home, ['doctor']);
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/^✓ supervisor +running, pid \d+/m);
    expect(stdout).toMatch(/ 0 to be mended$/);
  });

  /** A copy of what the program needs at run time, so that a tile can be missing from it. */
  const programWithoutTile = async (tile: string): Promise<string> => {
    const root = await mkdtemp(join(tmpdir(), 'tierclaw-program-'));
    closers.push(() => rm(root, { recursive: true, force: true }));
    for (const part of ['package.json', 'dist', 'src', 'container', 'groups/templates', 'tiles']) {
      await cp(join(packageRoot(), part), join(root, part), { recursive: true });
    }
    await symlink(join(packageRoot(), 'node_modules'), join(root, 'node_modules'));
    await rm(join(root, 'tiles', tile), { recursive: true });
    return root;
  };

  it('names a missing engine, and says how to start one', async () => {
    const home = await homeWith();
    await writeFile(home.configFile, 'runtime: { docker: { socket: /nonexistent/engine.sock } }\n');
    const { failed } = await diagnose(home);
    expect(failed).toEqual([
      expect.objectContaining({
        id: 'engine',
        found: expect.stringContaining('/nonexistent/engine.sock (ENOENT)'),
        hint: './scripts/engine.sh',
      }),
    ]);
  });

  it('names a .env that others may read, and the command that closes it', async () => {
    const home = await homeWith({ env: 'KEY=a-secret-value\n' });
    await chmod(home.envFile, 0o644);
    const { failed } = await diagnose(home);
    expect(failed).toEqual([
      expect.objectContaining({
        id: 'env-file',
        found: expect.stringContaining('its mode is 0644, it must be 0600'),
        hint: `chmod 600 ${home.envFile}`,
      }),
    ]);
  });

  it('names an image that the engine lacks, and the command that builds it', async () => {
    const home = await homeWith();
    await writeFile(imageFile(home), '{"tag":"tierclaw-agent:0000000000000000"}');
    const { failed } = await diagnose(home);
    expect(failed).toEqual([
      expect.objectContaining({
        id: 'image',
        found: expect.stringContaining('no image tierclaw-agent:0000000000000000'),
        hint: `tierclaw --home ${home.dir} image build`,
      }),
    ]);
  });

  it('names a missing tile for each tier that needs it, and how to get it back', async () => {
    const home = await homeWith();
    const { failed } = await diagnose(home, await programWithoutTile('admin'));
    expect(failed).toEqual([
      expect.objectContaining({
        id: 'tiles:main',
        found: expect.stringContaining('tile "admin"'),
        hint: expect.stringContaining('git checkout tiles/'),
      }),
    ]);
  });

  it('names an error of the configuration by line and key, and checks everything else all the same', async () => {
    const home = await homeWith();
    await writeFile(home.configFile, 'provider: rehearsal\nisMain: true\n');
    const { failed, one } = await diagnose(home);
    expect(failed).toEqual([
      expect.objectContaining({
        id: 'config',
        found: expect.stringContaining(`${home.configFile}:2: isMain: unknown key; allowed: provider, `),
        hint: expect.stringContaining(`tierclaw --home ${home.dir} groups register`),
      }),
    ]);
    for (const id of ['engine', 'image', 'disk', 'database:state', 'tiles:main']) {
      expect(one(id)).toMatchObject({ id, status: 'ok' });
    }
    expect(one('provider')).toMatchObject({ status: 'warn', hint: expect.stringContaining('isMain') });
  });

  it('names several at once, each with its own hint, in words for a person', async () => {
    const home = await homeWith();
    await unlink(join(home.global, 'SOUL-untrusted.md'));
    await chmod(home.data, 0o755);
    await writeFile(home.configFile, 'providers: [\n');
    const { stdout, exitCode } = await tierclaw(home, ['doctor']);
    expect(exitCode).toBe(EXIT_STATUS.config);
    expect(stdout).toMatch(
      /^✗ persona, public +.*SOUL-untrusted\.md is missing.*\n +→ tierclaw --home \S+ init writes/m,
    );
    expect(stdout).toMatch(/^✗ data directory +.*0755.*\n +→ chmod 700 /m);
    expect(stdout).toMatch(/^✗ configuration +.*tierclaw\.yaml:\d+: .*\n +→ /m);
    expect(stdout).toMatch(/ 3 to be mended$/);
  });

  it('counts the containers of this home that nobody looks after', async () => {
    const home = await homeWith();
    const { stdout: id } = await execa('docker', [
      'create',
      ...['--label', `${LABELS.home}=${home.dir}`, 'tierclaw-base:latest', 'true'],
    ]);
    closers.push(() => execa('docker', ['rm', '--force', id]));
    const { one } = await diagnose(home);
    expect(one('leftovers')).toMatchObject({
      status: 'warn',
      found: expect.stringContaining('1 containers and 0 directories'),
      hint: `tierclaw --home ${home.dir} up --detach removes them at its start`,
    });
  });
});
