/** Puts the probes and their targets into a group's folder, as the host: an untrusted container only reads it. */
import { copyFile, mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Targets } from './probe.ts';

/** The folder in a group's own; in the container `/workspace/group/redteam`. */
export const PROBES_FOLDER = 'redteam';

/** Made anew: an earlier turn may have put anything in its place. */
export const layOut = async (groupDirectory: string, bundle: string, targets: Targets): Promise<void> => {
  const directory = join(groupDirectory, PROBES_FOLDER);
  await rm(directory, { recursive: true, force: true });
  await mkdir(directory, { mode: 0o755 });
  await copyFile(bundle, join(directory, 'probes.mjs'));
  await writeFile(join(directory, 'targets.json'), JSON.stringify(targets), { mode: 0o644 });
};
