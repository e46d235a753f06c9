/** Files of the group's own folder that are none, or not the container's to read. */
import { chmod, chown, link, mkdir, rm, symlink, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { EVERY_TIER } from '../../domain/tiers.ts';
import { groupDirectory } from '../../home.ts';
import { mustRefuse } from '../host/attack.ts';
import { type Ground, layOut } from '../host/ground.ts';
import { readsPlanted } from '../host/naive.ts';
import { literal } from '../host/script.ts';
import type { HostProbe } from '../probe.ts';

const FOLDER = 'planted';

const ownerOnly = async (path: string, text: string): Promise<void> => {
  await writeFile(path, text, { mode: 0o600 });
  // Where the supervisor isn't root its files are the container's as well: then the mode alone has to do.
  if (process.getuid?.() === 0) await chown(path, 0, 0);
  else await chmod(path, 0);
};

/** As the host, so that it lies there in tiers that only read their folder, too. */
const plantAll = async (directory: string, ground: Ground): Promise<readonly string[]> => {
  const at = (name: string): string => join(directory, name);
  await mkdir(at('folder'), { recursive: true });
  await symlink(ground.secretFile, at('link'));
  await symlink(ground.outside, at('way'));
  await symlink('/proc/self/environ', at('environ'));
  await symlink('/dev/zero', at('zero'));
  await symlink('.', at('itself'));
  await writeFile(at('one'), ground.canary);
  await link(at('one'), at('twin'));
  await writeFile(at('sparse'), '');
  await truncate(at('sparse'), 5 * 1024 ** 3);
  await ownerOnly(at('owners'), ground.canary);
  await execa('mkfifo', [at('fifo')]);
  await mkdir(at('closed'), { mode: 0o700 });
  await writeFile(at('closed/inside'), ground.canary);
  if (process.getuid?.() !== 0) await chmod(at('closed'), 0);
  const inWay = ['way/secret.json', 'way/tree/deep.txt', 'itself/one', 'closed/inside', 'one/x', `${'d/'.repeat(70)}x`];
  return ['link', 'environ', 'zero', 'one', 'twin', 'sparse', 'owners', 'fifo', 'folder', 'nothing', ...inWay];
};

export const hostSendFileLinks: HostProbe = {
  kind: 'host',
  id: 'host-send-file-links',
  topic: 'files',
  tries:
    'to have the host send what its own user may not read, or what is no file: links, hard links, FIFOs, devices, directories, 5 GB of nothing, files of the host’s user',
  why: 'each component is opened without following links, checked by its descriptor, and asked whether the container’s own user could read it',
  expected: { runc: EVERY_TIER },
  control: readsPlanted((path, { secretFile }) => symlink(secretFile, path)),
  attempt: async (arena) => {
    const ground = await layOut(arena);
    const directory = join(groupDirectory(arena.home, arena.attacker.folder), FOLDER);
    await rm(directory, { recursive: true, force: true });
    const names = await plantAll(directory, ground);
    const script = `
for n, name in enumerate(${literal(names)}): request("n%d" % n, type="send_file", path="/workspace/group/${FOLDER}/" + name)
report()`;
    const finding = await mustRefuse(arena, { ground, script, atLeast: names.length });
    await chmod(join(directory, 'closed'), 0o700);
    await rm(directory, { recursive: true, force: true });
    return finding;
  },
};
