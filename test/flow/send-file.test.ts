/** A file on its way out: named, placed, opened as the container's user could, copied whole, kept within bounds. */

import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  chmodSync,
  chownSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { open } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import fc from 'fast-check';
import pino from 'pino';
import { ulid } from 'ulid';
import { beforeEach, describe, expect, it } from 'vitest';
import { openAudit } from '../../src/audit.ts';
import type { Channel, OutgoingFile, OutgoingMessage } from '../../src/channels/channel.ts';
import { GroupFolder, type GroupId } from '../../src/domain/ids.ts';
import type { MountContent, PlannedMount } from '../../src/domain/plan.ts';
import { tierRow } from '../../src/domain/tiers.ts';
import { checkName } from '../../src/files/refusal.ts';
import { type Asker, createPerformer } from '../../src/flow/perform.ts';
import { createReplier } from '../../src/flow/reply.ts';
import { FILE_BYTES_MAX, newAllowance } from '../../src/flow/send-file.ts';
import { copyOut } from '../../src/flow/send-file-copy.ts';
import { fileNameFor } from '../../src/flow/send-file-name.ts';
import { filePlace } from '../../src/flow/send-file-place.ts';
import { createShelf, SHELF_LIMITS } from '../../src/flow/send-file-shelf.ts';
import { createSecrets } from '../../src/secrets.ts';
import { freshDirectory, freshStores, group, invocationId, LOBBY } from '../store/fixture.ts';

const UID = 10_001;
const FOLDER = GroupFolder.parse('lobby');

describe('the name of a sent file', () => {
  it.each([
    ['report.pdf', 'report.pdf'],
    ['Übersicht 2026.pdf', 'Übersicht 2026.pdf'],
    ['a\nb\u001b[31m.txt', 'a_b_[31m.txt'],
    ['\u202egpj.exe', '_gpj.exe'],
    ['.bashrc', 'bashrc'],
    ['--help', 'help'],
    ['$(reboot)`x`;".sh', '_(reboot)_x_;_.sh'],
    ['...', 'file'],
    ['\u200b\u200b', '_'],
  ])('%j becomes %j', (original, expected) => {
    expect(fileNameFor(original)).toBe(expected);
  });

  it('keeps the extension of a long one, and never cuts a character in half', () => {
    const name = fileNameFor(`${'é'.repeat(127)}.pdf`);
    expect(Buffer.byteLength(name)).toBeLessThanOrEqual(120);
    expect(name).toMatch(/^é+\.pdf$/);
  });

  it('is always one harmless name', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 300 }), (original) => {
        const name = fileNameFor(original);
        expect(checkName(name)).toBeNull();
        expect(Buffer.byteLength(name)).toBeLessThanOrEqual(120);
        expect(name).not.toMatch(/^[.\-\s]|[\p{C}/\\"`$]/u);
      }),
      { numRuns: 300 },
    );
  });
});

const mount = (target: string, source: string, content: MountContent = 'kept'): PlannedMount => ({
  target,
  source,
  mode: 'ro',
  content,
});

describe('the place of a sent file', () => {
  const mounts = [
    mount('/workspace/group', '/h/groups/g'),
    mount('/workspace/global', '/h/turn/global', 'public-persona'),
    mount('/workspace/store', '/h/turn/store', 'filtered-store'),
    mount('/workspace/ipc/messages', '/h/ipc/messages', 'ipc-messages'),
    mount('/workspace/ipc/input', '/h/ipc/input', 'ipc-input'),
    mount('/workspace/tiles', '/h/tiles', 'tiles'),
    mount('/workspace/agents/bob', '/h/agents/bob/workspace'),
    mount('/run/tierclaw', '/h/run', 'socket'),
  ];

  it.each([
    ['/workspace/group/a.txt', '/h/groups/g', ['a.txt']],
    ['/workspace/group//x/./a.txt', '/h/groups/g', ['x', 'a.txt']],
    ['/workspace/global/SOUL.md', '/h/turn/global', ['SOUL.md']],
    ['/workspace/agents/bob/a', '/h/agents/bob/workspace', ['a']],
  ])('%s lies beneath %s', (path, source, names) => {
    expect(filePlace(mounts, path)).toMatchObject({ ok: true, mount: { source }, names });
  });

  it.each([
    ['/workspace/group/../../.env', 'has ".." in it'],
    ['/workspace/group/x/../a.txt', 'has ".." in it'],
    ['/workspace/groupie/a', 'no directory shared'],
    ['/workspace/trusted/a', 'no directory shared'],
    ['/workspace/agents/eve/a', 'no directory shared'],
    ['/h/groups/g/a.txt', 'no directory shared'],
    ['/proc/self/environ', 'no directory shared'],
    ['/etc/passwd', 'no directory shared'],
    ['/tmp/a', 'no directory shared'],
    ['a.txt', 'not an absolute path'],
    ['/workspace/group/a\0b', 'NUL'],
    ['/workspace/store/messages.db', 'nothing is sent from /workspace/store'],
    ['/workspace/ipc/messages/a.json', 'nothing is sent from /workspace/ipc/messages'],
    ['/workspace/ipc/input/a.json', 'nothing is sent from /workspace/ipc/input'],
    ['/workspace/tiles/core/RULES.md', 'nothing is sent from /workspace/tiles'],
    ['/run/tierclaw/gateway.sock', 'nothing is sent from /run/tierclaw'],
    ['/workspace/group', 'is a directory'],
    ['/workspace/group/', 'is a directory'],
  ])('%s is refused: %s', (path, reason) => {
    expect(filePlace(mounts, path)).toMatchObject({ ok: false, reason: expect.stringContaining(reason) });
  });
});

describe('the copy of a sent file', () => {
  const opened = async (path: string) => {
    const handle = await open(path, 'r');
    return { handle, size: (await handle.stat()).size };
  };

  it.each([0, 1, 256 * 1024, 256 * 1024 + 1, 3_000_000])('of %i bytes is whole', async (size) => {
    const directory = freshDirectory();
    const content = Buffer.alloc(size, 'abc');
    writeFileSync(join(directory, 'from'), content);
    const from = await opened(join(directory, 'from'));
    const copied = await copyOut(from, join(directory, 'to'), 'from');
    expect(copied).toMatchObject({ ok: true, value: { bytes: size } });
    expect(readFileSync(join(directory, 'to')).equals(content)).toBe(true);
    expect(statSync(join(directory, 'to')).mode & 0o777).toBe(0o600);
    await from.handle.close();
  });

  it.each([
    ['grew', (path: string) => appendFileSync(path, 'x')],
    ['shrank', (path: string) => truncateSync(path, 1)],
  ])('of a file that %s since it was checked is refused, and reads no more than it had', async (_, change) => {
    const directory = freshDirectory();
    writeFileSync(join(directory, 'from'), 'abc');
    const from = await opened(join(directory, 'from'));
    change(join(directory, 'from'));
    expect(await copyOut(from, join(directory, 'to'), 'from')).toMatchObject({ ok: false, reason: 'changed' });
    expect(statSync(join(directory, 'to')).size).toBeLessThanOrEqual(4);
    await from.handle.close();
  });

  it('of a file that is replaced meanwhile has the content that was checked', async () => {
    const directory = freshDirectory();
    writeFileSync(join(directory, 'from'), 'old');
    const from = await opened(join(directory, 'from'));
    writeFileSync(join(directory, 'new'), 'evil');
    renameSync(join(directory, 'new'), join(directory, 'from'));
    expect((await copyOut(from, join(directory, 'to'), 'from')).ok).toBe(true);
    expect(readFileSync(join(directory, 'to'), 'utf8')).toBe('old');
    await from.handle.close();
  });
});

describe('the shelf', () => {
  const fill = async (limits: typeof SHELF_LIMITS, sizes: readonly number[], folder = FOLDER) => {
    const directory = join(freshDirectory(), 'outfiles');
    let id = 0;
    const newId = () => {
      id += 1;
      return String(id).padStart(4, '0');
    };
    const shelf = createShelf({ directory, limits, newId });
    for (const size of sizes) writeFileSync(await shelf.place(folder, 'f', size), Buffer.alloc(size));
    return { directory, shelf, kept: () => readdirSync(join(directory, folder)).sort() };
  };

  it.each([
    [{ files: 3, bytes: 1000 }, [1, 1, 1, 1, 1], ['0003', '0004', '0005']],
    [{ files: 100, bytes: 100 }, [40, 40, 40], ['0002', '0003']],
    [{ files: 100, bytes: 100 }, [10, 10, 100], ['0003']],
  ])('of %j keeps of the sizes %j the newest: %j', async (limits, sizes, expected) => {
    expect((await fill(limits, sizes)).kept()).toEqual(expected);
  });

  it('of one group never pushes out another’s', async () => {
    const { directory, shelf } = await fill({ files: 2, bytes: 100 }, [10]);
    const other = GroupFolder.parse('other');
    for (let n = 0; n < 5; n += 1) writeFileSync(await shelf.place(other, 'f', 90), Buffer.alloc(90));
    expect(readdirSync(join(directory, FOLDER))).toHaveLength(1);
    expect(readdirSync(join(directory, other))).toHaveLength(1);
    expect(statSync(directory).mode & 0o777).toBe(0o700);
  });
});

interface Carried {
  readonly message: OutgoingFile;
  readonly content: string;
}

const channelThat = (sendFile: Channel['sendFile'], said: OutgoingMessage[] = []): Channel => ({
  instance: 'local',
  start: async () => {},
  send: async (message) => void said.push(message),
  ...(sendFile === undefined ? {} : { sendFile }),
  close: async () => {},
});

const setUp = (fate: 'taken' | 'shown' | 'fails' | 'none') => {
  const { home, stores, clock } = freshStores();
  const carried: Carried[] = [];
  const sendFile: Channel['sendFile'] = async (message) => {
    if (fate === 'fails' || fate === 'none') throw new Error('the network is away');
    carried.push({ message, content: readFileSync(message.file.path, 'utf8').slice(0, 100) });
    return fate;
  };
  const shelf = createShelf({ directory: home.outfiles, limits: SHELF_LIMITS, newId: ulid });
  const audit = openAudit(home.auditFile, clock.read);
  const channels = new Map([['local', channelThat(fate === 'none' ? undefined : sendFile)]]);
  const logger = pino({ level: 'silent' });
  const replier = createReplier({
    stores,
    channels,
    shelf,
    secrets: createSecrets(new Map(), '.env'),
    clock: clock.read,
    logger,
  });
  const perform = createPerformer({ stores, replier, audit, shelf });
  stores.groups.register(group());
  const source = join(home.dir, 'group');
  mkdirSync(source);
  const asker: Asker = {
    group: LOBBY,
    folder: FOLDER,
    rights: tierRow('untrusted').rights,
    invocation: invocationId(1),
    mounts: [mount('/workspace/group', source)],
    uid: UID,
    allowance: newAllowance(),
  };
  const send = (path: string, more: { caption?: string; chat?: GroupId } = {}) => {
    const request = { type: 'send_file', id: 'r1', path, ...more } as const;
    return perform(asker, request, request);
  };
  const copies = () =>
    existsSync(home.outfiles)
      ? readdirSync(home.outfiles, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
      : [];
  const recorded = () => readFileSync(home.auditFile, 'utf8');
  return { home, stores, clock, replier, source, send, copies, carried, recorded };
};

describe('send_file', () => {
  let base: ReturnType<typeof setUp>;
  const inGroup = (...names: string[]) => join(base.source, ...names);

  beforeEach(() => {
    base = setUp('shown');
  });

  it('copies the file, records it, and gives the channel the copy', async () => {
    writeFileSync(inGroup('report.pdf'), 'content');
    const answer = await base.send('/workspace/group/report.pdf', { caption: 'here <internal>thought</internal>' });
    expect(answer).toEqual({ ok: true, detail: 'sent "report.pdf" (7 bytes) to local:lobby' });
    const [sent] = base.carried;
    expect(sent).toMatchObject({
      content: 'content',
      message: { text: 'here', file: { name: 'report.pdf', bytes: 7 } },
    });
    expect(sent?.message.file.path.startsWith(`${base.home.outfiles}/lobby/`)).toBe(true);
    expect(base.copies()).toHaveLength(1);
    expect(base.recorded()).toMatch(
      /"kind":"file-sent".*"path":"\/workspace\/group\/report.pdf".*"sha256":"[0-9a-f]{64}"/,
    );
    expect(base.stores.messages.recent(LOBBY, 1)).toMatchObject([{ text: 'here\n[file "report.pdf", 7 bytes]' }]);
    expect(base.stores.outbox.pending()).toEqual([]);
  });

  it('keeps no copy of what a network has taken', async () => {
    base = setUp('taken');
    writeFileSync(inGroup('a'), 'content');
    expect(await base.send('/workspace/group/a')).toMatchObject({ ok: true });
    expect(base.carried).toMatchObject([{ content: 'content' }]);
    expect(base.copies()).toEqual([]);
    expect(existsSync(dirname(base.carried[0]?.message.file.path ?? ''))).toBe(false);
  });

  it('keeps the copy for a network that is away, and sends that later, whatever the file is by then', async () => {
    base = setUp('fails');
    writeFileSync(inGroup('a'), 'content');
    expect(await base.send('/workspace/group/a')).toMatchObject({ ok: false, detail: expect.stringContaining('kept') });
    expect(base.recorded()).not.toContain('request-refused');
    rmSync(inGroup('a'));
    const [row] = base.stores.outbox.pending();
    expect(row?.file).toMatchObject({ name: 'a', bytes: 7 });
    expect(readFileSync(row?.file?.path ?? '', 'utf8')).toBe('content');
  });

  it('of a copy that is gone by then fails as that message alone', async () => {
    base = setUp('fails');
    writeFileSync(inGroup('a'), 'content');
    await base.send('/workspace/group/a');
    rmSync(base.home.outfiles, { recursive: true });
    base.clock.ms += 3_600_000;
    await base.replier.sendDue();
    expect(base.stores.outbox.pending()).toMatchObject([{ error: 'the copy of "a" is no longer kept' }]);
  });

  it('is refused where the network takes no files, before anything is copied', async () => {
    base = setUp('none');
    writeFileSync(inGroup('a'), 'content');
    expect(await base.send('/workspace/group/a')).toMatchObject({
      ok: false,
      detail: expect.stringContaining('takes none'),
    });
    expect(base.copies()).toEqual([]);
  });

  it('to another chat follows the same rule as a message', async () => {
    writeFileSync(inGroup('a'), 'content');
    const answer = await base.send('/workspace/group/a', { chat: 'local:main' as GroupId });
    expect(answer).toMatchObject({ ok: false, detail: expect.stringContaining('may address only itself') });
    expect(base.carried).toEqual([]);
  });

  const outside = () => join(base.home.dir, 'outside');
  const REFUSED: readonly [title: string, reason: string, plant: () => unknown][] = [
    ['a link', 'symbolic link', () => symlinkSync(outside(), inGroup('x'))],
    ['a hard link', '2 hard links', () => linkSync(outside(), inGroup('x'))],
    ['a directory', 'a directory', () => mkdirSync(inGroup('x'))],
    ['a FIFO', 'not a regular file', () => execFileSync('mkfifo', [inGroup('x')])],
    ['a device', 'not a regular file', () => execFileSync('mknod', [inGroup('x'), 'c', '1', '5'])],
    ['nothing', 'not there', () => undefined],
    [
      'a sparse file of 5 GB',
      'at most 20971520 are allowed',
      () => {
        writeFileSync(inGroup('x'), '');
        truncateSync(inGroup('x'), 5 * 1024 ** 3);
      },
    ],
    [
      'one byte too many',
      `${FILE_BYTES_MAX + 1} bytes`,
      () => writeFileSync(inGroup('x'), Buffer.alloc(FILE_BYTES_MAX + 1)),
    ],
    [
      'a file that only the host may read',
      'may not read it',
      () => writeFileSync(inGroup('x'), 'secret', { mode: 0o600 }),
    ],
  ];

  it.each(REFUSED)('of %s is refused (%s), recorded, and leaves nothing', async (_, reason, plant) => {
    writeFileSync(outside(), 'secret');
    plant();
    const answer = await base.send('/workspace/group/x');
    expect(answer).toMatchObject({ ok: false, detail: expect.stringContaining(reason) });
    expect(base.recorded()).toMatch(/"kind":"request-refused".*"request":"send_file"/);
    expect([base.carried, base.copies(), base.stores.outbox.pending()]).toEqual([[], [], []]);
  });

  it.each([
    ['a link', () => symlinkSync(base.home.dir, inGroup('d'))],
    ['a directory that only the host may enter', () => mkdirSync(inGroup('d'), { mode: 0o700 })],
  ])('through %s is refused', async (_, plant) => {
    plant();
    writeFileSync(inGroup('d', 'x'), 'secret');
    expect(await base.send('/workspace/group/d/x')).toMatchObject({ ok: false });
    expect(base.carried).toEqual([]);
  });

  it.each([
    ['owner', 0o400, UID, 0],
    ['group', 0o040, 0, UID],
    ['other', 0o004, 0, 0],
  ])('reads what the container’s user may read as %s', async (_, mode, uid, gid) => {
    writeFileSync(inGroup('x'), 'content');
    chmodSync(inGroup('x'), mode);
    chownSync(inGroup('x'), uid, gid);
    expect(await base.send('/workspace/group/x')).toMatchObject({ ok: true });
  });

  it('of one turn is bounded in number and bytes', async () => {
    writeFileSync(inGroup('small'), 'x');
    writeFileSync(inGroup('big'), '');
    truncateSync(inGroup('big'), FILE_BYTES_MAX);
    for (let n = 0; n < 4; n += 1) expect(await base.send('/workspace/group/big')).toMatchObject({ ok: true });
    expect(await base.send('/workspace/group/small')).toMatchObject({ ok: true });
    expect(await base.send('/workspace/group/big')).toMatchObject({
      ok: false,
      detail: expect.stringContaining('bytes of files are sent in one turn'),
    });
    for (let n = 0; n < 15; n += 1) expect(await base.send('/workspace/group/small')).toMatchObject({ ok: true });
    expect(await base.send('/workspace/group/small')).toMatchObject({
      ok: false,
      detail: 'at most 20 files are sent in one turn',
    });
  });
});
