/** The clock isn’t namespaced: changing it here changes it everywhere. */
import { EVERY_TIER } from '../../domain/tiers.ts';
import { type InsideProbe, privilegedContainer } from '../probe.ts';
import { pythonProbe } from '../python.ts';

export const setClock: InsideProbe = {
  kind: 'inside',
  id: 'set-clock',
  topic: 'kernel',
  tries: 'to change the machine’s clock',
  why: 'adjusting it needs CAP_SYS_TIME',
  expected: { runc: EVERY_TIER },
  control: privilegedContainer,
  attempt: (kit) =>
    pythonProbe(
      kit,
      `
space = ctypes.create_string_buffer(256)
call('adjtimex', ctypes.addressof(space))
ADJ_TICK = 0x4000
ctypes.c_uint.from_buffer(space).value = ADJ_TICK # To the value that it has: nothing changes.
judge('adjtimex', call('adjtimex', ctypes.addressof(space)))
`,
    ),
};
