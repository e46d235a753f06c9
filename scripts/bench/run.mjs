/**
 * `npm run bench`: builds what is stale, bundles the benches into `dist/bench.mjs` and runs them in a process of their
 * own. Arguments go through as they are; see `main.ts`.
 */
import { spawnSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const ROOT = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const OUTPUT = join(ROOT, 'dist', 'bench.mjs');

/** Ends this process where that one failed; what it prints goes to stderr, because stdout is the benches' alone. */
const run = (args, stdout) => {
  const { status } = spawnSync(process.execPath, args, { cwd: process.cwd(), stdio: ['ignore', stdout, 'inherit'] });
  if (status !== 0) process.exit(status ?? 1);
};

run([join(ROOT, 'scripts', 'build.mjs'), '--if-stale'], process.stderr);
await build({
  absWorkingDir: ROOT,
  entryPoints: [join(ROOT, 'scripts', 'bench', 'main.ts')],
  outfile: OUTPUT,
  bundle: true,
  platform: 'node',
  format: 'esm',
  target: 'node20',
  packages: 'external',
  sourcemap: true,
  logLevel: 'warning',
});
run(['--enable-source-maps', '--expose-gc', OUTPUT, ...process.argv.slice(2)], 'inherit');
