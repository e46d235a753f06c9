/** Files asked for by paths that lead elsewhere. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { EVERY_TIER } from '../../domain/tiers.ts';
import { mustRefuse } from '../host/attack.ts';
import { layOut } from '../host/ground.ts';
import { naive } from '../host/naive.ts';
import { literal } from '../host/script.ts';
import { type HostProbe, held, reached } from '../probe.ts';

const WITHIN = [
  '../../.env',
  '/etc/passwd',
  '/proc/self/environ',
  '/proc/1/root/etc/passwd',
  '/dev/zero',
  '/tmp/x',
  '/',
  '.',
  '~/.env',
  'file:///etc/passwd',
  '/workspace/group',
  '/workspace/group/../../.env',
  '/workspace/group/./../../.env',
  '/workspace/group/..%2f..%2f.env',
  '/workspace/store/messages.db',
  '/workspace/ipc/messages/x.json',
  '/workspace/tiles/core/rules.md',
  '/run/tierclaw/gateway.sock',
  '/workspace/groupx/../group/x',
  '/workspace/group/a\0b',
];

export const hostSendFilePaths: HostProbe = {
  kind: 'host',
  id: 'host-send-file-paths',
  topic: 'files',
  tries:
    'to have the host send its own files, or another group’s, by paths with .., absolute host paths, /proc, /dev and mounts that hold no work',
  why: 'a path is resolved in the container’s view through its own mounts, by its text alone, and .. is refused',
  expected: { runc: EVERY_TIER },
  control: naive(async ({ outside, canary }) => {
    const path = join(outside, 'tree', '../secret.json');
    return (await readFile(path, 'utf8')).includes(canary) ? reached('join gave the file above the folder') : held('');
  }),
  attempt: async (arena) => {
    const ground = await layOut(arena);
    const { home, victim } = arena;
    const onHost = [
      ground.secretFile,
      ground.victimFile,
      home.envFile,
      home.configFile,
      home.auditFile,
      `/workspace/group/../${victim.folder}/private.md`,
    ];
    const paths = [...WITHIN, ...onHost];
    const script = `
for n, path in enumerate(${literal(paths)}): request("p%d" % n, type="send_file", path=path)
report()`;
    return mustRefuse(arena, { ground, script, atLeast: paths.length });
  },
};
