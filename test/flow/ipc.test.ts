/** The inbox takes in what a request is, answers it, and survives everything else that a container can put there. */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  closeSync,
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type Directory, openDirectory } from '../../src/files/beneath.ts';
import { INBOX_LIMITS, type Inbox, type InboxOptions, openInbox } from '../../src/flow/ipc.ts';
import { InputFile } from '../../src/protocol.ts';

const UID = 12_345;
/** The hard limit of the product for any hostile act. */
const LAG_MS_MAX = 100;
/** Other work on the machine lags the loop too, but not three times over. */
const RETRIED = { retry: 2 };

let base = '';
let directory = '';
let quarantineDirectory = '';
let quarantine: Directory;
let inbox: Inbox | undefined;
let heard: {
  requests: unknown[];
  others: unknown[];
  refusals: [string, string][];
  floods: string[];
  pokes: number;
  errors: unknown[];
};

beforeEach(async () => {
  base = mkdtempSync(join(tmpdir(), 'ipc-'));
  directory = join(base, 'ipc', 'INVOCATION');
  quarantineDirectory = join(base, 'quarantine');
  mkdirSync(quarantineDirectory);
  quarantine = await openDirectory(quarantineDirectory);
  heard = { requests: [], others: [], refusals: [], floods: [], pokes: 0, errors: [] };
});

afterEach(async () => {
  await inbox?.close();
  inbox = undefined;
  await quarantine.close();
  rmSync(base, { recursive: true, force: true });
});

const start = async (changes: Partial<InboxOptions> = {}): Promise<Inbox> => {
  inbox = await openInbox({
    directory,
    layout: 'whole',
    uid: UID,
    quarantine,
    limits: { ...INBOX_LIMITS, filesPerSecond: 1000, burst: 1000 },
    onRequest: async (request) => {
      heard.requests.push(request);
      return { ok: true, detail: 'sent' };
    },
    onOther: async (request) => {
      heard.others.push(request);
      return { ok: false, detail: `unknown request kind "${request.type}"` };
    },
    onRefusal: (kind, detail) => heard.refusals.push([kind, detail]),
    onFlood: (detail) => heard.floods.push(detail),
    onError: (thrown) => heard.errors.push(thrown),
    poke: () => {
      heard.pokes += 1;
    },
    ...changes,
  });
  return inbox;
};

const inMessages = (name: string) => join(directory, 'messages', name);
/** As the runner writes: another name first. */
const put = (path: string, content: string | Buffer): void => {
  writeFileSync(`${path}.tmp`, content);
  renameSync(`${path}.tmp`, path);
};
const message = (id: string, more: object = {}) =>
  JSON.stringify({ type: 'message', id, text: `text of ${id}`, ...more });
const answerOf = (id: string) =>
  InputFile.parse(JSON.parse(readFileSync(join(directory, 'input', `${id}.json`), 'utf8')));
const eventually = (check: () => void) => vi.waitFor(check, { timeout: 10_000, interval: 10 });
const ids = () => heard.requests.map((request) => (request as { id: string }).id);

/** Takes a write lease (F_SETLEASE, F_WRLCK), puts the file into the inbox and holds on. */
const TAKE_LEASE = `
import fcntl, os, signal, sys, time
signal.signal(signal.SIGIO, signal.SIG_IGN)
held = os.open(sys.argv[1], os.O_RDWR)
fcntl.fcntl(held, 1024, fcntl.F_WRLCK)
os.rename(sys.argv[1], sys.argv[2])
time.sleep(60)
`;

const lagDuring = async (act: () => Promise<void>): Promise<number> => {
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  await act();
  delay.disable();
  return delay.max / 1e6;
};

describe('the directories of an inbox', () => {
  it('belong to the container in the whole layout', async () => {
    await start();
    for (const name of ['', 'messages', 'tasks', 'input']) expect(statSync(join(directory, name)).uid).toBe(UID);
  });

  it('are split for whoever may only write messages', async () => {
    await start({ layout: 'split' });
    expect(readdirSync(directory).sort()).toEqual(['input', 'messages']);
    expect(statSync(inMessages('')).uid).toBe(UID);
    for (const name of ['', 'input']) {
      const { uid, mode } = statSync(join(directory, name));
      expect([uid, mode & 0o777]).toEqual([process.getuid?.(), 0o755]);
    }
    await expect(inbox?.writeSnapshot('available_groups.json', [])).rejects.toMatchObject({ code: 'internal' });
  });

  it.each(['messages', 'tasks', 'input'])('are refused when a link stands where %s should be', async (name) => {
    const outside = join(base, 'outside');
    mkdirSync(outside);
    mkdirSync(directory, { recursive: true });
    symlinkSync(outside, join(directory, name));
    await expect(start()).rejects.toMatchObject({ code: 'refused', message: expect.stringContaining(name) });
    expect(statSync(outside).uid).toBe(0);
  });

  it('take snapshots and follow-ups as whole files that the container can read', async () => {
    await start();
    expect(await inbox?.writeSnapshot('available_groups.json', [{ id: 'local:x' }])).toBe(true);
    expect(JSON.parse(readFileSync(join(directory, 'available_groups.json'), 'utf8'))).toEqual([{ id: 'local:x' }]);
    const prompt = { id: '1', sender: 's', text: 'more', at: '2026-01-01T00:00:00Z' };
    expect(await inbox?.addFollowUp('f1', prompt)).toBe(true);
    expect(answerOf('f1')).toEqual({ type: 'follow-up', id: 'f1', message: prompt });
    expect(statSync(join(directory, 'input', 'f1.json')).mode & 0o777).toBe(0o644);
    expect(heard.pokes).toBe(1);
  });
});

describe('a request', () => {
  it('is performed, taken away and answered, and the runner is told', async () => {
    await start();
    put(inMessages('r1.json'), message('r1', { chat: 'local:x' }));
    await eventually(() => expect(heard.pokes).toBe(1));
    expect(heard.requests).toEqual([{ type: 'message', id: 'r1', text: 'text of r1', chat: 'local:x' }]);
    expect(answerOf('r1')).toEqual({ type: 'answer', id: 'r1', ok: true, detail: 'sent' });
    expect(readdirSync(inMessages(''))).toEqual([]);
  });

  it('is found by the sweep where no hint comes', async () => {
    // The hints of the first file are over before the bucket lets the second one through.
    await start({ limits: { ...INBOX_LIMITS, filesPerSecond: 4, burst: 1, sweepMs: 50 } });
    for (const id of ['a', 'b', 'c']) put(inMessages(`${id}.json`), message(id));
    await eventually(() => expect(heard.requests).toHaveLength(3));
  });

  it('of a kind that is not known gets an answer, from messages/ as from tasks/', async () => {
    await start();
    put(inMessages('a.json'), JSON.stringify({ type: 'schedule_task', id: 'a', isMain: true, chat: 'local:x' }));
    put(join(directory, 'tasks', 'b.json'), JSON.stringify({ type: 'cancel_task', id: 'b', chat: 7 }));
    await eventually(() => expect(heard.pokes).toBe(2));
    expect(heard.others).toEqual([
      { type: 'schedule_task', id: 'a', chat: 'local:x' },
      { type: 'cancel_task', id: 'b', chat: undefined },
    ]);
    expect(answerOf('b')).toMatchObject({ ok: false, detail: 'unknown request kind "cancel_task"' });
  });

  it('is handled once per id, whatever the files are called', async () => {
    await start();
    put(inMessages('1.json'), message('same'));
    await eventually(() => expect(ids()).toEqual(['same']));
    put(inMessages('2.json'), message('same'));
    await eventually(() => expect(heard.refusals).toMatchObject([['duplicate', expect.stringContaining('same')]]));
    expect(ids()).toEqual(['same']);
    expect(answerOf('same')).toMatchObject({ ok: true });
  });

  it.each([
    ['a forged sender', { sender: 'owner' }],
    ['a forged tier', { tier: 'main' }],
    ['a forged main flag', { isMain: true }],
    ['a forged folder', { groupFolder: 'main' }],
    ['an empty text', { text: '' }],
    ['a huge text', { text: 'x'.repeat(60_000) }],
  ])('with %s is refused, reported and answered', async (_title, forged) => {
    await start();
    put(inMessages('f.json'), message('forged', forged));
    await eventually(() => expect(heard.pokes).toBe(1));
    expect(heard.requests).toEqual([]);
    expect(heard.refusals).toMatchObject([['invalid-request', expect.stringContaining('f.json')]]);
    expect(answerOf('forged')).toMatchObject({ ok: false });
    expect(readdirSync(quarantineDirectory)).toHaveLength(1);
  });

  it('whose performer throws is answered all the same, and the next one is served', async () => {
    let calls = 0;
    await start({
      onRequest: async () => {
        calls += 1;
        if (calls === 1) throw new Error('secret of the host');
        return { ok: true, detail: 'sent' };
      },
    });
    put(inMessages('1.json'), message('r1'));
    put(inMessages('2.json'), message('r2'));
    await eventually(() => expect(heard.pokes).toBe(2));
    expect(answerOf('r1')).toMatchObject({ ok: false, detail: expect.not.stringContaining('secret') });
    expect(answerOf('r2')).toMatchObject({ ok: true });
    expect(heard.errors).toHaveLength(1);
  });

  it('that is written in place is waited for, and given up when it stays broken', async () => {
    await start();
    writeFileSync(inMessages('slow.json'), '{"type":"mess');
    await new Promise((resolve) => setTimeout(resolve, 150));
    writeFileSync(inMessages('slow.json'), message('slow'));
    await eventually(() => expect(ids()).toEqual(['slow']));
    expect(heard.refusals).toEqual([]);
    writeFileSync(inMessages('broken.json'), '{"type":"mess');
    await eventually(() => expect(answerOf('broken')).toMatchObject({ ok: false }));
    expect(heard.refusals).toMatchObject([['not-json', expect.stringContaining('broken.json')]]);
  });

  it('waits in the directory when there are too many per second', async () => {
    await start({ limits: { ...INBOX_LIMITS, filesPerSecond: 0.001, burst: 3, sweepMs: 20 } });
    for (const id of ['e', 'b', 'c', 'a', 'd']) put(join(base, `${id}.json`), message(id));
    for (const id of ['a', 'b', 'c', 'd', 'e']) renameSync(join(base, `${id}.json`), inMessages(`${id}.json`));
    await eventually(() => expect(heard.requests).toHaveLength(3));
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(heard.requests).toHaveLength(3);
    expect(readdirSync(inMessages('')).filter((name) => name.endsWith('.json'))).toHaveLength(2);
    await inbox?.close();
    expect(ids().sort()).toEqual(['a', 'b', 'c', 'd', 'e']);
  });

  it('is refused over the number that one turn may make', async () => {
    await start({ limits: { ...INBOX_LIMITS, requests: 2 } });
    for (const id of ['a', 'b', 'c']) put(inMessages(`${id}.json`), message(id));
    await eventually(() => expect(heard.pokes).toBe(3));
    expect(heard.requests).toHaveLength(2);
    expect(heard.refusals).toMatchObject([['too-many', expect.any(String)]]);
  });
});

describe('what is no request', () => {
  const outside = () => join(base, 'outside.json');
  const PLANTS: readonly [title: string, kind: string, kept: boolean, plant: (path: string) => unknown][] = [
    ['a link to a file of the host', 'link', true, (path) => symlinkSync(outside(), path)],
    ['a link to an endless device', 'link', true, (path) => symlinkSync('/dev/zero', path)],
    ['a FIFO', 'special', true, (path) => execFileSync('mkfifo', [path])],
    ['a hard link', 'hard-link', false, (path) => linkSync(outside(), path)],
    ['an empty directory', 'directory', false, (path) => mkdirSync(path)],
    ['a file of 50 MB', 'too-large', false, (path) => put(path, Buffer.alloc(50 * 1024 * 1024, 'x'))],
    [
      'a sparse file of 5 GB',
      'too-large',
      false,
      (path) => {
        writeFileSync(`${path}.tmp`, '');
        truncateSync(`${path}.tmp`, 5 * 1024 ** 3);
        renameSync(`${path}.tmp`, path);
      },
    ],
    ['invalid UTF-8', 'not-utf8', true, (path) => put(path, Buffer.from([0x7b, 0xff, 0xfe, 0x7d]))],
    ['no JSON', 'not-json', true, (path) => put(path, 'hello')],
    ['JSON of another shape', 'not-a-request', true, (path) => put(path, '[1,2]')],
    ['an id that would name a path', 'not-a-request', true, (path) => put(path, '{"type":"message","id":"../../x"}')],
    ['deep nesting', 'not-a-request', true, (path) => put(path, '['.repeat(1024 * 1024))],
    [
      'many keys',
      'not-a-request',
      true,
      (path) => put(path, JSON.stringify(Object.fromEntries(Array.from({ length: 60_000 }, (_, n) => [`k${n}`, n])))),
    ],
    [
      'a planted prototype',
      'not-a-request',
      true,
      (path) => put(path, '{"__proto__":{"type":"message","id":"p","text":"x"}}'),
    ],
  ];

  it.each(PLANTS)(
    '%s is refused as %s, leaves the inbox, and is answered',
    RETRIED,
    async (_title, kind, kept, plant) => {
      writeFileSync(outside(), message('outside'));
      await start();
      plant(inMessages('bad.json')); // Making it is this process's own work, and is not measured.
      const lag = await lagDuring(async () => {
        await eventually(() => expect(heard.pokes).toBe(1));
        put(inMessages('good.json'), message('good'));
        await eventually(() => expect(ids()).toEqual(['good']));
      });
      expect(heard.refusals).toMatchObject([[kind, expect.stringContaining('bad.json')]]);
      expect(answerOf('bad')).toMatchObject({ ok: false, detail: expect.stringContaining('bad.json') });
      expect(readdirSync(inMessages('')).filter((name) => name.startsWith('bad'))).toEqual([]);
      await eventually(() => expect(readdirSync(quarantineDirectory)).toHaveLength(kept ? 1 : 0));
      expect(readFileSync(outside(), 'utf8')).toBe(message('outside'));
      expect(lag).toBeLessThan(LAG_MS_MAX);
      expect(heard.errors).toEqual([]);
    },
  );

  it('a socket is refused', async () => {
    await start();
    const server = createServer().listen(inMessages('bad.json'));
    await once(server, 'listening');
    await eventually(() => expect(heard.refusals).toMatchObject([['special', expect.any(String)]]));
    await new Promise((resolve) => server.close(resolve));
  });

  it('half-written and foreign names are left alone', async () => {
    await start();
    for (const name of ['.half.json', 'note.txt', 'x.json.tmp']) writeFileSync(inMessages(name), message('x'));
    put(inMessages('z.json'), message('z'));
    await eventually(() => expect(ids()).toEqual(['z']));
    expect(heard.refusals).toEqual([]);
  });

  it('a name that is not UTF-8 is reported once and left alone', async () => {
    await start({ limits: { ...INBOX_LIMITS, sweepMs: 20 } });
    writeFileSync(Buffer.concat([Buffer.from(`${inMessages('')}/`), Buffer.from([0xff]), Buffer.from('.json')]), '{}');
    await eventually(() => expect(heard.refusals).toHaveLength(1));
    put(inMessages('z.json'), message('z'));
    await eventually(() => expect(ids()).toEqual(['z']));
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(heard.refusals).toMatchObject([['name', expect.any(String)]]);
  });

  it('names that are not UTF-8, always new ones, leave one report', async () => {
    await start({ limits: { ...INBOX_LIMITS, sweepMs: 20 } });
    for (let n = 0; n < 50; n += 1) {
      writeFileSync(Buffer.concat([Buffer.from(inMessages(`${n}`)), Buffer.from([0xff]), Buffer.from('.json')]), '{}');
    }
    put(inMessages('z.json'), message('z'));
    await eventually(() => expect(ids()).toEqual(['z']));
    expect(heard.refusals).toMatchObject([['name', expect.any(String)]]);
  });

  it('a directory with something in it stays in the inbox, which goes with its turn, and is reported once', async () => {
    await start({ limits: { ...INBOX_LIMITS, sweepMs: 20 } });
    mkdirSync(join(base, 'full'));
    writeFileSync(join(base, 'full', 'x'), '');
    renameSync(join(base, 'full'), inMessages('bad.json'));
    await eventually(() => expect(answerOf('bad')).toMatchObject({ ok: false }));
    put(inMessages('z.json'), message('z'));
    await eventually(() => expect(ids()).toEqual(['z']));
    expect(heard.refusals).toMatchObject([['directory', expect.any(String)]]);
    expect(readdirSync(inMessages(''))).toEqual(['bad.json']);
    expect(readdirSync(quarantineDirectory)).toEqual([]);
  });

  it('a file under a lease of the container’s is refused and removed, not tried for ever', async () => {
    await start({ limits: { ...INBOX_LIMITS, sweepMs: 20 } });
    writeFileSync(inMessages('.leased'), message('leased'));
    const holder = spawn('python3', ['-c', TAKE_LEASE, inMessages('.leased'), inMessages('leased.json')]);
    await eventually(() => expect(answerOf('leased')).toMatchObject({ ok: false }));
    expect(existsSync(inMessages('leased.json'))).toBe(false);
    expect(heard.errors).toEqual([]);
    holder.kill('SIGKILL');
    await once(holder, 'exit');
  });

  it('fills the quarantine up to its bound and is only removed from then on', async () => {
    await start({ limits: { ...INBOX_LIMITS, burst: 1000, quarantineEntries: 3 } });
    for (let n = 0; n < 12; n += 1) symlinkSync('/etc/passwd', inMessages(`l${n}.json`));
    await eventually(() => expect(heard.refusals).toHaveLength(12));
    await eventually(() => expect(readdirSync(inMessages(''))).toEqual([]));
    await eventually(() => expect(readdirSync(quarantineDirectory)).toHaveLength(3));
    expect(heard.errors).toEqual([]);
  });

  it('is kept as the host read it, though the container goes on writing to it', async () => {
    await start();
    const held = openSync(inMessages('.bad'), 'a');
    writeSync(held, '[1]');
    renameSync(inMessages('.bad'), inMessages('bad.json'));
    await eventually(() => expect(heard.pokes).toBe(1));
    writeSync(held, 'more');
    closeSync(held);
    const [name = ''] = readdirSync(quarantineDirectory);
    expect(name).toMatch(/^INVOCATION-/);
    expect(readFileSync(join(quarantineDirectory, name), 'utf8')).toBe('[1]');
    expect(statSync(join(quarantineDirectory, name)).mode & 0o777).toBe(0o600);
  });
});

describe('a flood', () => {
  it('of 1,001 files ends the turn, once, and nothing is taken in any more', async () => {
    await start({ limits: { ...INBOX_LIMITS, filesPerSecond: 1, burst: 1, sweepMs: 50 } });
    for (let n = 0; n <= INBOX_LIMITS.entries + 1; n += 1) writeFileSync(inMessages(`.${n}`), '');
    await eventually(() => expect(heard.floods).toEqual(['more than 1000 files in messages/']));
    put(inMessages('late.json'), message('late'));
    await new Promise((resolve) => setTimeout(resolve, 200));
    await inbox?.close();
    expect(heard.floods).toHaveLength(1);
    expect(heard.requests).toEqual([]);
  });

  it('of events does not hold the event loop, and requests get through', RETRIED, async () => {
    await start();
    for (const name of ['a', 'b']) writeFileSync(inMessages(name), '');
    const loop =
      'const { chmodSync } = require("node:fs"); process.chdir(process.argv[1]); process.stdout.write("x"); for (;;) { chmodSync("a", 0o600); chmodSync("b", 0o600); }';
    const storm = spawn(process.execPath, ['-e', loop, inMessages('')], { stdio: ['ignore', 'pipe', 'inherit'] });
    await once(storm.stdout, 'data');
    const lag = await lagDuring(async () => {
      for (let n = 0; n < 20; n += 1) {
        put(inMessages(`r${n}.json`), message(`r${n}`));
        await eventually(() => expect(heard.requests).toHaveLength(n + 1));
      }
    });
    storm.kill('SIGKILL');
    await once(storm, 'exit');
    expect(lag).toBeLessThan(LAG_MS_MAX);
  });
});

describe('a container that replaces the directories themselves', () => {
  it('changes nothing: requests are read from the originals, answers go to the originals', async () => {
    await start({ limits: { ...INBOX_LIMITS, sweepMs: 50 } });
    const outside = join(base, 'outside');
    mkdirSync(outside);
    writeFileSync(join(outside, 'planted.json'), message('planted'));
    for (const name of ['messages', 'input', 'tasks']) {
      renameSync(join(directory, name), join(directory, `old-${name}`));
      symlinkSync(outside, join(directory, name));
    }
    put(join(directory, 'old-messages', 'r.json'), message('r'));
    await eventually(() => expect(heard.pokes).toBe(1));
    await inbox?.close();
    expect(ids()).toEqual(['r']);
    expect(readdirSync(join(directory, 'old-input'))).toEqual(['r.json']);
    expect(readdirSync(outside)).toEqual(['planted.json']);
  });

  it('that deletes them gets no answers, and the host goes on', async () => {
    await start({ limits: { ...INBOX_LIMITS, sweepMs: 50 } });
    rmSync(join(directory, 'input'), { recursive: true });
    symlinkSync(base, join(directory, 'input'));
    put(inMessages('r.json'), message('r'));
    await eventually(() => expect(heard.refusals).toMatchObject([['answer', expect.any(String)]]));
    expect(existsSync(join(base, 'r.json'))).toBe(false);
    rmSync(directory, { recursive: true });
    await new Promise((resolve) => setTimeout(resolve, 150));
    expect(await inbox?.writeSnapshot('current_tasks.json', [])).toBe(false);
    await inbox?.close();
    expect(heard.errors).toEqual([]);
  });

  it('and plants links where snapshots and answers go has them replaced, not followed', async () => {
    await start();
    const victim = join(base, 'victim');
    writeFileSync(victim, 'untouched');
    symlinkSync(victim, join(directory, 'current_tasks.json'));
    symlinkSync(victim, join(directory, 'input', 'r.json'));
    await inbox?.writeSnapshot('current_tasks.json', []);
    put(inMessages('r.json'), message('r'));
    await eventually(() => expect(answerOf('r')).toMatchObject({ ok: true }));
    expect(readFileSync(victim, 'utf8')).toBe('untouched');
    expect(readFileSync(join(directory, 'current_tasks.json'), 'utf8')).toBe('[]');
  });

  it('and swaps a request for a link all the time never gets the link read', async () => {
    await start({ limits: { ...INBOX_LIMITS, filesPerSecond: 10_000, burst: 10_000 } });
    const secret = join(base, 'secret.json');
    writeFileSync(secret, message('secret'));
    const loop = `const fs = require('node:fs'); process.chdir(process.argv[1]); process.stdout.write('x');
      for (let n = 0; ; n += 1) {
        const body = JSON.stringify({ type: 'message', id: 'n' + n, text: 'x' });
        try { fs.writeFileSync('.t', body); fs.renameSync('.t', 'x.json'); fs.symlinkSync(process.argv[2], '.l'); fs.renameSync('.l', 'x.json'); }
        catch { for (const name of ['.t', '.l']) fs.rmSync(name, { force: true }); }
      }`;
    const swapper = spawn(process.execPath, ['-e', loop, inMessages(''), secret], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await once(swapper.stdout, 'data');
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    swapper.kill('SIGKILL');
    await once(swapper, 'exit');
    await inbox?.close();
    expect(ids()).not.toContain('secret');
    expect(heard.requests.length + heard.refusals.length).toBeGreaterThan(0);
    expect(readFileSync(secret, 'utf8')).toBe(message('secret'));
  });
});

describe('closing', () => {
  it('takes in what arrived before, answers it, and gives every descriptor back', async () => {
    const before = readdirSync('/proc/self/fd').length;
    await start({ limits: { ...INBOX_LIMITS, filesPerSecond: 0.001, burst: 1, sweepMs: 60_000, finalFiles: 3 } });
    for (const id of ['a', 'b', 'c', 'd', 'e', 'f']) put(inMessages(`${id}.json`), message(id));
    await eventually(() => expect(heard.requests).toHaveLength(1));
    await inbox?.close();
    await inbox?.close();
    expect(heard.requests).toHaveLength(4);
    expect(heard.pokes).toBe(4);
    expect(heard.refusals).toMatchObject([['left-over', expect.stringContaining('2 request files')]]);
    expect(await inbox?.addFollowUp('x', { id: '1', sender: 's', text: 't', at: '' })).toBe(false);
    put(inMessages('late.json'), message('late'));
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(heard.requests).toHaveLength(4);
    expect(readdirSync('/proc/self/fd').length).toBe(before);
  });

  it('waits for a request that is being performed', async () => {
    let finish: (() => void) | undefined;
    await start({
      onRequest: async () => {
        await new Promise<void>((resolve) => {
          finish = resolve;
        });
        return { ok: true, detail: 'sent late' };
      },
    });
    put(inMessages('r.json'), message('r'));
    await eventually(() => expect(finish).toBeDefined());
    const closed = inbox?.close();
    finish?.();
    await closed;
    expect(answerOf('r')).toMatchObject({ detail: 'sent late' });
  });
});
