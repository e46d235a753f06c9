/** Where this program's own files lie (migrations, tiles, container/, templates), from sources and from `dist/` alike. */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';

/** The nearest directory at or above this file that holds a package.json. */
export const packageRoot = (): string => {
  let directory = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(directory, 'package.json'))) directory = dirname(directory);
  return directory;
};

export const packageVersion = (): string =>
  z.object({ version: z.string() }).parse(JSON.parse(readFileSync(join(packageRoot(), 'package.json'), 'utf8')))
    .version;
