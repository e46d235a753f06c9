/** Turns and the audit trail: none starts that can't be put on record; what waits is answered once it can. */
import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { acknowledgeAudit, verifyAudit } from '../../src/commands/audit.ts';
import { renderStatus } from '../../src/commands/status.ts';
import type { Home } from '../../src/home.ts';
import type { ChatEvent } from '../../src/ops/control-protocol.ts';
import { createFaultTable } from './fault-table.ts';
import { contextOf, type Installation, type InstallationOptions, install } from './installation.ts';

const PATIENT = 'queue: { retries: 15, retrySeconds: 0.2 }\n';

const faults = createFaultTable('Faults: audit trail');
afterAll(() => faults.print());

const open: { installation: Installation | null } = { installation: null };
const setUp = async (options: InstallationOptions = {}): Promise<Installation> => {
  open.installation = await install({ config: PATIENT, ...options });
  return open.installation;
};
afterEach(async () => {
  await open.installation?.close();
  open.installation = null;
});

const lines = ({ auditFile }: Home) =>
  readFileSync(auditFile, 'utf8')
    .split('\n')
    .filter((line) => line !== '');
const started = (home: Home) =>
  lines(home)
    .map((line) => JSON.parse(line))
    .filter(({ kind }) => kind === 'turn-started');
const verified = async (home: Home) => (await verifyAudit(contextOf(home), {})).data as { ok: boolean };

/** Asks, waits until the turn was put off, hands over, and gives the end. */
const askAndWait = async (installation: Installation, meanwhile: () => Promise<void> | void): Promise<ChatEvent[]> => {
  const all: ChatEvent[] = [];
  for await (const event of installation.events('lobby', 'run: echo answered')) {
    all.push(event);
    if (all.filter(({ kind }) => kind === 'postponed').length === 1 && event.kind === 'postponed') await meanwhile();
  }
  return all;
};

interface Trouble {
  readonly title: string;
  readonly words: RegExp;
  readonly options?: () => InstallationOptions;
  /** Returns what mends it. */
  readonly harm: (installation: Installation) => () => void;
}

const disks: string[] = [];
const mounted = (): InstallationOptions => {
  const directory = mkdtempSync(join(tmpdir(), 'tierclaw-audit-disk-'));
  disks.push(directory);
  return {
    prepare: async (home) => {
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64k,mode=700', 'tmpfs', directory]);
      // The trail alone: what else the home writes has its own disk.
      execFileSync('sh', [
        '-c',
        `cp -p "$1" "$2/kept" && mount --bind "$2/kept" "$1"`,
        'sh',
        home.auditFile,
        directory,
      ]);
      disks.push(home.auditFile);
    },
  };
};
afterEach(() => {
  for (const place of disks.splice(0).reverse()) execFileSync('umount', ['-l', place], { stdio: 'ignore' });
});

const replacedBy = (what: string, put: (file: string) => void): Trouble => ({
  title: `was replaced by a ${what}`,
  words: /audit\.jsonl (is not a regular file|was replaced)/,
  harm: ({ home: { auditFile } }) => {
    renameSync(auditFile, `${auditFile}.away`);
    put(auditFile);
    return () => {
      rmSync(auditFile, { recursive: true });
      renameSync(`${auditFile}.away`, auditFile);
    };
  },
});

const TROUBLES: readonly Trouble[] = [
  {
    title: 'is on a disk that is full',
    words: /can’t be written: ENOSPC/,
    options: mounted,
    harm: ({ app }) => {
      const ballast = join(disks[0] ?? '', 'ballast');

      execFileSync('sh', ['-c', `cat /dev/zero > ${ballast} || true`], { stdio: 'ignore' });
      // The file's own last page has room for a few lines yet.
      const more = () => app.supervisor.record({ kind: 'gc', details: {} });
      expect(() => Array.from({ length: 100 }, more)).toThrow(/ENOSPC/);
      return () => rmSync(ballast);
    },
  },
  {
    title: 'may not be changed any more',
    words: /can’t be written: EPERM/,
    harm: ({ home: { auditFile } }) => {
      execFileSync('chattr', ['+i', auditFile]);
      return () => void execFileSync('chattr', ['-i', auditFile]);
    },
  },
  {
    title: 'was deleted',
    words: /audit\.jsonl (was removed|is missing)/,
    harm: ({ home: { auditFile } }) => {
      execFileSync('cp', ['-p', auditFile, `${auditFile}.backup`]);
      rmSync(auditFile);
      return () => renameSync(`${auditFile}.backup`, auditFile);
    },
  },
  replacedBy('link', (file) => symlinkSync('/etc/hostname', file)),
  replacedBy('directory', (file) => mkdirSync(file)),
  replacedBy('FIFO', (file) => execFileSync('mkfifo', [file])),
  {
    title: 'was written to by somebody else',
    words: /broken/,
    harm: ({ home: { auditFile } }) => {
      const { size } = statSync(auditFile);
      appendFileSync(auditFile, '{"seq":99,"kind":"forged"}\n');
      return () => truncateSync(auditFile, size);
    },
  },
];

describe.each(TROUBLES)('a trail that $title', ({ title, words, options, harm }) => {
  it('lets no turn start; the message waits, status says why, and it is answered once that is mended', async () => {
    const installation = await setUp(options?.());
    const { home, app } = installation;
    expect((await installation.say('lobby', 'run: echo before')).reply).toContain('before');
    const before = started(home).length;
    const mend = harm(installation);
    const events = await askAndWait(installation, async () => {
      const status = app.supervisor.status();
      expect(status.auditTrouble).toMatch(words);
      expect(renderStatus(status, Date.now())).toMatch(/NO TURN STARTS/);
      expect(await installation.containers()).toEqual([]);
      mend();
    });
    expect(events.find(({ kind }) => kind === 'postponed')).toMatchObject({ detail: expect.stringMatching(words) });
    // The chat hears nothing before the answer: no false promise and no details.
    const said = events.flatMap((event) => (event.kind === 'message' ? [event.text] : []));
    expect(said).toHaveLength(1);
    expect(said[0]).toContain('answered');
    expect(events.at(-1)).toMatchObject({ kind: 'done', reason: 'completed' });
    expect(app.supervisor.status().auditTrouble).toBeUndefined();
    expect(started(home)).toHaveLength(before + 1);
    expect(lines(home).join('\n')).toMatch(/"kind":"audit-resumed"/);
    expect(await verified(home)).toMatchObject({ ok: true });
    faults.note({ step: 'dispatch', broken: `audit trail ${title}`, happened: 'put off; answered once it was mended' });
  });
});

describe('a trail that stays broken', () => {
  it('makes a dead letter of the message in the end, and the chat is told the truth without details', async () => {
    const installation = await setUp({ config: 'queue: { retries: 1, retrySeconds: 0.1 }\n' });
    const { home } = installation;
    rmSync(home.auditFile);
    const { done, messages } = await installation.say('lobby', 'run: echo never');
    expect(done).toMatchObject({ reason: 'failed', detail: expect.stringContaining('audit') });
    expect(messages).toEqual([expect.stringMatching(/can’t be put on record.*Your message is kept/)]);
    expect(messages.join()).not.toContain(home.dir);
    expect(await installation.containers()).toEqual([]);
    faults.note({ step: 'dispatch', broken: 'audit trail gone for good', happened: 'dead letter; the chat was told' });
  });

  it('is found at the start, stops turns until it is acknowledged, and then turns go on', async () => {
    const installation = await setUp();
    const { home } = installation;
    await installation.say('lobby', 'run: echo before');
    await installation.app.close();
    const whole = lines(home);
    truncateSync(home.auditFile, Buffer.byteLength(`${whole.slice(0, -1).join('\n')}\n`));
    const app = await installation.restart();
    expect(app.supervisor.status().auditTrouble).toMatch(/missing at the end: cut off/);
    await app.close();
    expect(await acknowledgeAudit(contextOf(home), { yes: true })).toMatchObject({ data: { done: true } });
    await installation.restart();
    expect((await installation.say('lobby', 'run: echo after')).reply).toContain('after');
    expect(await verified(home)).toMatchObject({ ok: true });
    faults.note({ step: 'start', broken: 'audit trail cut', happened: 'no turn until it was acknowledged' });
  });
});

describe('a turn', () => {
  it('is on record before its container runs, with what it is', async () => {
    const installation = await setUp();
    const { done } = await installation.say('lobby', 'run: true');
    expect(started(installation.home)).toMatchObject([
      { group: 'local:lobby', tier: 'untrusted', invocation: done.invocation, session: 'default', messages: 1 },
    ]);
    expect(existsSync(join(installation.home.data, 'audit', 'head'))).toBe(true);
  });
});
