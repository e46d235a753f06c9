/** Limits per process are only as good as their hard values. */
import { EVERY_TIER } from '../../domain/tiers.ts';
import { type InsideProbe, missing, privilegedContainer } from '../probe.ts';
import { pythonProbe } from '../python.ts';

const SOURCE = `
import resource
for kind in (resource.RLIMIT_NOFILE, resource.RLIMIT_CORE):
  soft, hard = resource.getrlimit(kind)
  if hard == resource.RLIM_INFINITY: found(True, 'a hard limit is unlimited')
  try: resource.setrlimit(kind, (soft, hard + 1)); found(True, 'raised to %d' % (hard + 1))
  except (PermissionError, ValueError): pass
found(False, 'both refused')
`;

export const raiseLimits: InsideProbe = {
  kind: 'inside',
  id: 'raise-limits',
  topic: 'limits',
  tries: 'to raise the hard limits on open files and core files',
  why: 'raising needs CAP_SYS_RESOURCE',
  expected: { runc: EVERY_TIER },
  control: privilegedContainer,
  attempt: async (kit) => {
    if (kit.targets.absentCapabilities.includes('SYS_RESOURCE'))
      return missing('nothing on this machine has CAP_SYS_RESOURCE, not even its engine');
    return pythonProbe(kit, SOURCE);
  },
};
