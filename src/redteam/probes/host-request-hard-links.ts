/** A request file with a second name. */
import { link } from 'node:fs/promises';
import { EVERY_TIER } from '../../domain/tiers.ts';
import { mustRefuse } from '../host/attack.ts';
import { naive, naiveRead } from '../host/naive.ts';
import type { HostProbe } from '../probe.ts';

export const hostRequestHardLinks: HostProbe = {
  kind: 'host',
  id: 'host-request-hard-links',
  topic: 'messages',
  tries: 'to have the host take a hard link for a request: no link by its type, but another file’s content',
  why: 'a file with more than one link is refused by its descriptor’s stat',
  expected: { runc: EVERY_TIER },
  control: naive(async (ground) => {
    const path = `${ground.outside}/x.json`;
    await link(ground.secretFile, path);
    return naiveRead(path, ground);
  }),
  attempt: (arena) =>
    mustRefuse(arena, {
      script: `
def twin(path, id):
    put(path + ".a", json.dumps({"type": "message", "id": id, "text": "twice"}))
    os.link(path + ".a", path)
plant("own", twin)
plant("answer", lambda path, id: os.link(IPC + "/input/own-messages.json", path) if answer("own-messages") else None)
plant("tile", lambda path, id: os.link("/workspace/tiles/core/rules.md", path))
plant("script", lambda path, id: os.link(sys.argv[0], path))
report()`,
      atLeast: 1,
    }),
};
