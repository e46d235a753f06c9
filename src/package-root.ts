/** Where this program's own files lie (migrations, tiles, container/, templates), from sources and from `dist/` alike. */
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The nearest directory at or above this file that holds a package.json. */
export const packageRoot = (): string => {
  let directory = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(directory, 'package.json'))) directory = dirname(directory);
  return directory;
};
