/** What is kept of a real turn: its phases, its tool calls, its use of the model. */
import { join } from 'node:path';
import { execa } from 'execa';
import { describe, expect, it } from 'vitest';
import { packageRoot } from '../../src/package-root.ts';
import { install } from './installation.ts';

describe('the record of a run', () => {
  it('has its tool calls and what the gateway counted, when nobody runs any more', async () => {
    const installation = await install();
    try {
      const { done } = await installation.say('lobby', 'run: echo kept');
      expect(done.reason).toBe('completed');
      await installation.app.close();
      const { stdout } = await execa(process.execPath, [
        join(packageRoot(), 'dist', 'cli.mjs'),
        ...['--home', installation.home.dir, 'runs', 'show', done.invocation, '--json'],
      ]);
      const shown = JSON.parse(stdout);
      expect(shown).toMatchObject({
        id: done.invocation,
        reason: 'completed',
        timings: { ...done.timings, totalMs: expect.any(Number) },
      });
      expect(shown.receipts).toEqual([
        {
          seq: 1,
          tool: 'bash',
          outcome: 'ok',
          argumentsDigest: expect.stringMatching(/^[0-9a-f]{64}$/),
          at: expect.any(String),
        },
      ]);
      expect(shown.model).toMatchObject({ requests: 2, refusals: 0 });
      expect(shown.model.outputTokens).toBeGreaterThan(0);
    } finally {
      await installation.close();
    }
  });
});
