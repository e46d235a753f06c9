/** Before any test: the bundles in `dist/` are those of the sources as they are now. */
import { fileURLToPath } from 'node:url';
import { execa } from 'execa';

export const setup = async (): Promise<void> => {
  const script = fileURLToPath(new URL('../../scripts/build.mjs', import.meta.url));
  await execa(process.execPath, [script, '--if-stale'], { stdio: 'inherit' });
};
