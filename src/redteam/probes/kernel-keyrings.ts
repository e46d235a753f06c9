/** Keyrings aren’t namespaced: another’s keys may lie in them. */
import { EVERY_TIER } from '../../domain/tiers.ts';
import { type InsideProbe, privilegedContainer } from '../probe.ts';
import { pythonProbe } from '../python.ts';

export const kernelKeyrings: InsideProbe = {
  kind: 'inside',
  id: 'kernel-keyrings',
  topic: 'kernel',
  tries: 'to read or fill the kernel’s keyrings',
  why: 'keyctl, add_key and request_key are not in the filter’s list',
  expected: { runc: EVERY_TIER },
  control: privilegedContainer,
  attempt: (kit) =>
    pythonProbe(
      kit,
      `
result, error = call('add_key', b'user', b'tc-probe', b'x', 1, -2)
if error not in KEPT_OUT + ABSENT: found(True, 'add_key: ' + (error or 'done'))
judge('keyctl', call('keyctl', 0, -3, 1))
`,
    ),
};
