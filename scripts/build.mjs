/**
 * Bundles the sources into `dist/`: the host's programs (packages stay outside) and the container's (one file each,
 * everything inside). Each output is renamed into place, so that a program that starts meanwhile reads an old file or
 * a new one, never half of one. `--if-stale` builds only when an input is newer than an output.
 */
import { chmod, mkdir, readdir, rename, stat, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const DIST = join(ROOT, 'dist');
const INPUTS = ['src', 'container', 'scripts/build.mjs', 'package-lock.json'];
const EXECUTABLE = 0o755;

// CommonJS packages inside the bundle call require() for Node's own modules; an ES module has none of its own.
const REQUIRE =
  "import { createRequire as __createRequire } from 'node:module';\nconst require = __createRequire(import.meta.url);";

/** What dockerode brings along for engines elsewhere and for BuildKit's sessions: about 10 MB of a supervisor that no unix socket needs. */
const UNUSED = /^(ssh2|@grpc\/grpc-js|@grpc\/proto-loader|protobufjs)$/;
/** With whatever they need themselves. */
const BUNDLED = /^(dockerode|docker-modem)$/;

/** Packages stay outside, but for dockerode, which is taken in without what is not used of it. */
const packagesOutside = {
  name: 'packages-outside',
  setup: ({ onResolve, onLoad }) => {
    onResolve({ filter: UNUSED }, ({ path }) => ({ path, namespace: 'unused' }));
    onLoad({ filter: /.*/, namespace: 'unused' }, () => ({ contents: 'module.exports = {};' }));
    onResolve({ filter: /^[^./]/ }, ({ path, kind, importer }) => {
      const isInside = kind === 'entry-point' || BUNDLED.test(path) || importer.includes('/node_modules/');
      return isInside ? undefined : { path, external: true };
    });
  },
};

const host = (entry, output, banner = '') => ({
  output,
  options: { entryPoints: [entry], target: 'node20', plugins: [packagesOutside], banner: { js: banner } },
});

const PROGRAMS = [
  // The flag keeps a supervisor small; see src/commands/up.ts. Node takes it from its command line only.
  host('src/cli.ts', 'cli.mjs', `#!/usr/bin/env -S node --max-semi-space-size=4\n${REQUIRE}`),
  host('src/supervisor-program.ts', 'supervisor.mjs', REQUIRE),
  host('src/store/copy-worker.ts', 'copy-worker.mjs'),
  host('src/store/backup-worker.ts', 'backup-worker.mjs'),
  host('src/files/measure-worker.ts', 'measure-worker.mjs'),
  host('src/store/retention-worker.ts', 'retention-worker.mjs'),
  {
    output: 'probes.mjs',
    options: { entryPoints: ['src/redteam/inside/main.ts'], target: 'node24' },
  },
  {
    output: 'runner.mjs',
    options: {
      entryPoints: ['container/runner/main.ts'],
      target: 'node24',
      banner: { js: REQUIRE },
      // Every turn reads and checks the whole of it before it runs; names stay as they are, for its stack traces.
      minifyWhitespace: true,
      minifySyntax: true,
    },
  },
  {
    output: 'web-fetch.mjs',
    options: {
      entryPoints: ['container/web-fetch/main.ts'],
      target: 'node24',
      minifyWhitespace: true,
      minifySyntax: true,
    },
  },
];

/** When a path last changed, in ms; undefined where there is nothing. */
const changedMs = async (path) => {
  const found = await stat(path).catch(() => undefined);
  return found?.mtimeMs;
};

/** The newest change at or below a path, in ms. */
const newestMs = async (path) => {
  const own = (await changedMs(path)) ?? 0;
  const entries = await readdir(path, { recursive: true }).catch(() => []);
  const times = await Promise.all(entries.map((entry) => changedMs(join(path, entry))));
  return Math.max(own, ...times.map((time) => time ?? 0));
};

const isStale = async () => {
  const inputs = await Promise.all(INPUTS.map((input) => newestMs(join(ROOT, input))));
  const outputs = await Promise.all(PROGRAMS.map(({ output }) => changedMs(join(DIST, output))));
  return outputs.includes(undefined) || Math.max(...inputs) > Math.min(...outputs);
};

const replace = async (path, contents, mode) => {
  const temporary = `${path}.${process.pid}.tmp`;
  await writeFile(temporary, contents);
  await chmod(temporary, mode);
  await rename(temporary, path);
};

const bundle = async ({ output, options }) => {
  const result = await build({
    ...options,
    absWorkingDir: ROOT,
    outfile: join(DIST, output),
    bundle: true,
    platform: 'node',
    format: 'esm',
    sourcemap: true,
    write: false,
    logLevel: 'warning',
  });
  for (const file of result.outputFiles) {
    await replace(file.path, file.contents, file.path.endsWith('cli.mjs') ? EXECUTABLE : 0o644);
  }
  return relative(ROOT, join(DIST, output));
};

if (!process.argv.includes('--if-stale') || (await isStale())) {
  await mkdir(DIST, { recursive: true });
  const results = await Promise.allSettled(PROGRAMS.map(bundle));
  const built = results.filter(({ status }) => status === 'fulfilled').map(({ value }) => value);
  if (built.length > 0) process.stdout.write(`build: ${built.join(', ')}\n`);
  if (built.length < results.length) process.exitCode = 1;
}
