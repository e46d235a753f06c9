/** Keys in files: a mounted .env, a copied configuration. */
import { EVERY_TIER } from '../../domain/tiers.ts';
import { findCanaries } from '../find-canaries.ts';
import { type InsideProbe, plainContainer } from '../probe.ts';

export const secretsFiles: InsideProbe = {
  kind: 'inside',
  id: 'secrets-files',
  topic: 'secrets',
  tries: 'to find a key in any file below the usual places and every mount',
  why: 'no plan mounts the home’s .env or its data directory',
  expected: { runc: EVERY_TIER },
  control: plainContainer,
  attempt: (kit) =>
    findCanaries(
      kit,
      ['/workspace', '/run', '/etc', '/home', '/root', '/opt', '/mnt', '/media', '/srv', '/var/lib', '/tmp'],
      ['env-secret', 'model-key', 'decoy-key'],
    ),
};
