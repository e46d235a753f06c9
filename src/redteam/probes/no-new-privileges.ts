/** The flag that keeps a program from gaining rights when it starts another. */
import { readFile } from 'node:fs/promises';
import { EVERY_TIER } from '../../domain/tiers.ts';
import { held, type InsideProbe, plainContainer, reached } from '../probe.ts';

export const noNewPrivileges: InsideProbe = {
  kind: 'inside',
  id: 'no-new-privileges',
  topic: 'privileges',
  tries: 'to be without the flag no_new_privs',
  why: 'the flag is set on every container and can’t be taken off',
  expected: { runc: EVERY_TIER },
  control: plainContainer,
  attempt: async () => {
    const status = await readFile('/proc/self/status', 'utf8');
    const flag = /^NoNewPrivs:\s*(\d)$/m.exec(status)?.[1];
    return flag === '1' ? held('NoNewPrivs: 1') : reached(`NoNewPrivs: ${flag}`);
  },
};
