import { describe, expect, it } from 'vitest';
import { imageTag } from '../../src/runtimes/image.ts';

const INPUTS = {
  dockerfile: Buffer.from('FROM x'),
  runner: Buffer.from('run()'),
  webFetch: Buffer.from('fetch()'),
  baseId: `sha256:${'0'.repeat(64)}`,
  uid: 10_001,
};

describe('the tag of the agent image', () => {
  it('is the same for the same inputs', () => {
    expect(imageTag(INPUTS)).toMatch(/^tierclaw-agent:[0-9a-f]{16}$/);
    expect(imageTag({ ...INPUTS, runner: Buffer.from('run()') })).toBe(imageTag(INPUTS));
  });

  it.each([
    { what: 'the Dockerfile', changed: { dockerfile: Buffer.from('FROM y') } },
    { what: 'the runner', changed: { runner: Buffer.from('run(1)') } },
    { what: 'the program behind web_fetch', changed: { webFetch: Buffer.from('fetch(1)') } },
    { what: 'the base image', changed: { baseId: `sha256:${'1'.repeat(64)}` } },
    { what: 'the user', changed: { uid: 1000 } },
    { what: 'where one input ends', changed: { dockerfile: Buffer.from('FROM '), runner: Buffer.from('xrun()') } },
  ])('changes with $what', ({ changed }) => {
    expect(imageTag({ ...INPUTS, ...changed })).not.toBe(imageTag(INPUTS));
  });
});
