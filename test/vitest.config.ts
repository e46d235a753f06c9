/** Two projects: `unit` runs in parallel; `integration` shares one engine, so its files run one after another. */
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

const root = fileURLToPath(new URL('..', import.meta.url));

// biome-ignore lint/style/noDefaultExport: vitest reads its configuration from the default export.
export default defineConfig({
  root,
  test: {
    // Tests run the bundled programs; a stale bundle would test yesterday's code.
    globalSetup: ['test/setup/build.ts'],
    passWithNoTests: false,
    projects: [
      {
        root,
        test: {
          name: 'unit',
          include: ['test/**/*.test.ts'],
          exclude: ['test/integration/**'],
          testTimeout: 20_000,
        },
      },
      {
        root,
        test: {
          name: 'integration',
          include: ['test/integration/**/*.test.ts'],
          fileParallelism: false,
          testTimeout: 60_000,
          hookTimeout: 180_000,
        },
      },
    ],
  },
});
