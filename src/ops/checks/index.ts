/** The checks of the doctor, in the order in which they are shown: the home, the machine, the engine, the way out. */
import type { Check } from '../doctor.ts';
import { auditChecks } from './audit.ts';
import { contentChecks } from './content.ts';
import { diskChecks } from './disk.ts';
import { engineChecks } from './engine.ts';
import { homeChecks } from './home.ts';
import { imageChecks } from './image.ts';
import { machineChecks } from './machine.ts';
import { providerChecks } from './provider.ts';
import { quotaChecks } from './quota.ts';
import { secretChecks } from './secrets.ts';
import { storeChecks } from './store.ts';
import { supervisorChecks } from './supervisor.ts';

export const CHECKS: readonly Check[] = [
  ...homeChecks,
  ...storeChecks,
  ...auditChecks,
  ...contentChecks,
  ...diskChecks,
  ...quotaChecks,
  ...machineChecks,
  ...engineChecks,
  ...imageChecks,
  ...supervisorChecks,
  ...providerChecks,
  ...secretChecks,
];
