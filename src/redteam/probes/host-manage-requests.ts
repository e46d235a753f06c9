/** More rights, asked for by a chat that may not give any. */
import { GUEST_TIERS } from '../../domain/tiers.ts';
import { attack, createJudge, judgeGround, judgeRefusals } from '../host/attack.ts';
import { literal } from '../host/script.ts';
import { type HostProbe, noControl } from '../probe.ts';

const KINDS = [
  'register_group',
  'unregister_group',
  'refresh_groups',
  'set_tier',
  'promote_staging',
  'github_backup',
  'become_main',
  'constructor',
  '__proto__',
  'toString',
  'MESSAGE',
  'message ',
];

export const hostManageRequests: HostProbe = {
  kind: 'host',
  id: 'host-manage-requests',
  topic: 'messages',
  tries:
    'to register or change groups, raise its own tier, promote skills, run scripts of the host, or hit on a kind that nobody thought of',
  why: 'kinds are looked up in one closed table, each with the right that it needs; a kind that isn’t there is refused',
  expected: { runc: GUEST_TIERS },
  elsewhere: 'the sole group may manage groups and promote skills, by the tier table',
  control: noControl('the tier that may do it is shown by the matrix itself'),
  attempt: async (arena) => {
    const judge = createJudge();
    const groups = () => JSON.stringify(arena.stores.groups.list());
    const before = groups();
    const { id, folder } = arena.attacker;
    const made = await attack(arena, {
      script: `
for number, kind in enumerate(${literal(KINDS)}):
    request("k%d" % number, type=kind, group=${literal(id)}, jid=${literal(id)}, folder=${literal(folder)}, tier=${literal(arena.victim.tier)}, name="x")
report()`,
    });
    judgeRefusals(judge, made, KINDS.length);
    judge.breach(groups() !== before, 'the table of groups has changed');
    await judgeGround(judge, arena, made);
    return judge.verdict(`${KINDS.length} kinds refused, and the table of groups is what it was`);
  },
};
