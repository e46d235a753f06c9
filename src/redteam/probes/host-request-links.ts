/** A request file that is a link. */
import { symlink } from 'node:fs/promises';
import { EVERY_TIER } from '../../domain/tiers.ts';
import { mustRefuse } from '../host/attack.ts';
import { layOut } from '../host/ground.ts';
import { readsPlanted } from '../host/naive.ts';
import { literal } from '../host/script.ts';
import type { HostProbe } from '../probe.ts';

export const hostRequestLinks: HostProbe = {
  kind: 'host',
  id: 'host-request-links',
  topic: 'messages',
  tries: 'to have the host read its own files, or another group’s, through links in the directory of requests',
  why: 'a request is opened by its name beneath the directory’s descriptor with O_NOFOLLOW: a link is never opened',
  expected: { runc: EVERY_TIER },
  control: readsPlanted((path, { secretFile }) => symlink(secretFile, path)),
  attempt: async (arena) => {
    const ground = await layOut(arena);
    const links = {
      host: ground.secretFile,
      victim: `../../../../../groups/${arena.victim.folder}/${ground.victimFile.split('/').at(-1)}`,
      absolute: ground.victimFile,
      env: arena.home.envFile,
      zero: '/dev/zero',
      environ: '/proc/self/environ',
      nothing: '/nowhere',
    };
    const script = `
for act, target in ${literal(links)}.items():
    plant(act, lambda path, id: os.symlink(target, path))
plant("itself", lambda path, id: os.symlink(os.path.basename(path), path))
report()`;
    return mustRefuse(arena, { ground, script, atLeast: 8 });
  },
};
