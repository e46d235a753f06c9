/**
 * Exits 0 when `node_modules` is what the lockfile says and its native addon loads in this Node; else says why not and
 * exits 1. npm writes its own record of an installation last, so an interrupted one never passes.
 */
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '..');

/** Path below node_modules → version; packages for other platforms may be missing from an installation. */
const packagesOf = async (file) => {
  const { packages } = JSON.parse(await readFile(join(ROOT, file), 'utf8'));
  return new Map(Object.entries(packages).filter(([path]) => path !== ''));
};

const difference = (wanted, found) => {
  for (const [path, { version, optional }] of wanted) {
    const has = found.get(path)?.version;
    if (has !== version && !(has === undefined && optional)) return `${path} is ${has ?? 'missing'}, not ${version}`;
  }
  const extra = [...found.keys()].find((path) => !wanted.has(path));
  return extra === undefined ? undefined : `${extra} isn't in the lockfile`;
};

const check = async () => {
  const found = await packagesOf('node_modules/.package-lock.json').catch(() => undefined);
  if (found === undefined) return 'nothing is installed';
  const reason = difference(await packagesOf('package-lock.json'), found);
  if (reason !== undefined) return reason;
  const Database = createRequire(join(ROOT, 'package.json'))('better-sqlite3');
  new Database(':memory:').close();
  return undefined;
};

const reason = await check().catch((error) => error.message.split('\n')[0]);
if (reason !== undefined) {
  process.stderr.write(`${reason}\n`);
  process.exitCode = 1;
}
