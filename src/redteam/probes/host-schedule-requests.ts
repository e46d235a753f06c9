/** Scheduled work, asked for by a chat that may not have any. */
import { OUTSIDER_TIERS } from '../../domain/tiers.ts';
import { mustRefuse } from '../host/attack.ts';
import { literal } from '../host/script.ts';
import { type HostProbe, noControl } from '../probe.ts';

const KINDS = ['schedule_task', 'list_tasks', 'pause_task', 'resume_task', 'cancel_task', 'update_task'];

export const hostScheduleRequests: HostProbe = {
  kind: 'host',
  id: 'host-schedule-requests',
  topic: 'messages',
  tries: 'to schedule, list, pause, resume, cancel or change tasks by requests put where messages go',
  why: 'the kind decides which right is asked for, not the directory, and this tier has none',
  expected: { runc: OUTSIDER_TIERS },
  elsewhere: 'these tiers may have tasks of their own, by the tier table',
  control: noControl('the tiers that may do it are shown by the matrix itself'),
  attempt: (arena) =>
    mustRefuse(arena, {
      script: `
for kind in ${literal(KINDS)}: request(kind, type=kind, prompt="x", when="* * * * *", taskId="1", group=${literal(arena.victim.id)})
report()`,
      atLeast: KINDS.length,
    }),
};
