/**
 * One hostile turn and all that has to hold after it: the event loop was never held, another group was served
 * meanwhile, nothing outside was touched, and every refusal is on record and was told to the agent.
 */
import { createHash } from 'node:crypto';
import { lstatSync, readFileSync, readlinkSync } from 'node:fs';
import { chown, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import { trailFiles } from '../../src/audit/files.ts';
import { type AuditEntry, readEntries } from '../../src/audit/read.ts';
import type { AuditKind } from '../../src/domain/audit-kinds.ts';
import { TIER_NAMES } from '../../src/domain/tiers.ts';
import type { Home } from '../../src/home.ts';
import { type Conversation, type Installation, install } from './installation.ts';
import { LAG_MS_MAX, measureLag } from './loop-lag.ts';

/** Stands in every file that no container may read or have sent. */
export const SECRET = 'sentinel-7f3a9c';
/** More turns follow each other here than a chat may have in a minute. */
const NO_CAPS = '{ requestsPerMinute: 10000, tokensPerDay: 1000000000 }';
const SENTINEL_UID = 4_242;

/** What has to have been refused in a turn. */
export interface Refused {
  /** As the audit trail has it. */
  readonly kind: AuditKind;
  /** In the agent’s answer, which has read it; `ended`: the turn was ended for it, and the chat has read it. */
  readonly told: string | RegExp | { readonly ended: string };
  /** Exactly so many on record; default: at least one. */
  readonly count?: number;
}

/** For what is no refusal: the host does nothing with it that it could refuse. */
export const NOTHING_REFUSED: readonly Refused[] = [];

export interface Ground {
  readonly installation: Installation;
  /** A directory of the host's that no plan shows. */
  readonly outside: string;
  /** Runs a hostile command in that group's container, checks what has to hold, and hands back the turn. */
  probe(folder: string, command: string, refused: readonly Refused[]): Promise<Conversation>;
  /** A tool of the rehearsal model instead of a command. */
  ask(folder: string, message: string, refused: readonly Refused[]): Promise<Conversation>;
  /** What is on record of that turn. */
  recorded(turn: Conversation): Promise<readonly AuditEntry[]>;
  close(): Promise<void>;
}

/** Everything about a file that a careless host could change; links are not followed. */
const stateOf = (path: string): string => {
  const stats = lstatSync(path);
  const { mode, uid, gid, nlink, mtimeMs } = stats;
  const content = stats.isFile() ? readFileSync(path) : stats.isSymbolicLink() ? readlinkSync(path) : '';
  const digest = createHash('sha256').update(content).digest('hex');
  return JSON.stringify({ path, mode, uid, gid, nlink, mtimeMs, digest });
};

/** In the home and outside of it, with an owner and a mode of their own. */
const layOutSentinels = async (home: Home, outside: string): Promise<string[]> => {
  const friends = join(home.groups, 'friends', 'secret.txt');
  const trusted = join(home.trusted, 'secret.txt');
  const files = [join(outside, 'secret.txt'), join(outside, 'tree', 'deep.txt'), friends, trusted];
  await mkdir(join(outside, 'tree'));
  await mkdir(join(home.groups, 'friends'), { recursive: true });
  await mkdir(home.trusted, { recursive: true });
  for (const file of files) {
    await writeFile(file, `${SECRET}\n`, { mode: 0o640 });
    await chown(file, SENTINEL_UID, SENTINEL_UID);
  }
  await symlink('/etc/passwd', join(outside, 'link'));
  const others = [join(outside, 'link'), outside, join(outside, 'tree'), home.envFile, home.configFile];
  return [...files, ...others, '/etc', '/etc/passwd', '/etc/shadow', '/etc/hostname'];
};

const verbatim = (text: string): RegExp => new RegExp(text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));

/** Two groups of the tier that everybody is in by default: one is hostile, one must not notice. */
const BYSTANDER = { main: 'friends', friends: 'main', lobby: 'main' } as const;

const bystanderOf = (folder: string): string => BYSTANDER[folder as keyof typeof BYSTANDER];

export const prepareGround = async (): Promise<Ground> => {
  const outside = await mkdtemp(join(tmpdir(), 'tierclaw-outside-'));
  const installation = await install({
    config: `turns: { concurrent: 3 }\ncaps:\n${TIER_NAMES.map((tier) => `  ${tier}: ${NO_CAPS}\n`).join('')}`,
    env: `NOTHING=${SECRET}-in-env\n`,
  });
  const sentinels = await layOutSentinels(installation.home, outside);
  const recorded = async ({ done }: Conversation): Promise<AuditEntry[]> => {
    const entries = [...readEntries(trailFiles(installation.home.auditFile), () => {})];
    return entries.filter(({ invocation }) => invocation === done.invocation);
  };

  const expectRefused = async (folder: string, turn: Conversation, { kind, told, count }: Refused): Promise<void> => {
    const lines = (await recorded(turn)).filter((entry) => entry.kind === kind && entry.group === `local:${folder}`);
    if (count === undefined) expect(lines, `on record as ${kind}`).not.toEqual([]);
    else expect(lines, `on record as ${kind}`).toHaveLength(count);
    if (typeof told === 'object' && 'ended' in told) expect(turn.messages.join()).toContain(told.ended);
    else
      expect(turn.reply.replaceAll('"', '\\"'), 'told to the agent').toMatch(
        told instanceof RegExp ? told : verbatim(told),
      );
  };

  const once = async (folder: string, message: string) => {
    const before = sentinels.map(stateOf);
    const hostile = measureLag(async () => {
      const turn = installation.say(folder, message);
      const served = await installation.say(bystanderOf(folder), 'run: echo served');
      return { turn: await turn, served };
    });
    const { result, lagMs } = await hostile;
    expect(result.served.reply).toContain('served');
    await expect.poll(installation.containers, { timeout: 20_000 }).toEqual([]);
    expect(sentinels.map(stateOf)).toEqual(before);
    expect(JSON.stringify(result.turn.events)).not.toContain(SECRET);
    return { turn: result.turn, lagMs };
  };

  const checked = async (folder: string, turn: Conversation, refused: readonly Refused[]): Promise<Conversation> => {
    for (const one of refused) await expectRefused(folder, turn, one);
    return turn;
  };

  /** What else runs on the machine lags the loop too, but not twice at the same probe. */
  const twice = async (folder: string, message: string, refused: readonly Refused[]): Promise<Conversation> => {
    const first = await once(folder, message);
    if (first.lagMs < LAG_MS_MAX) return checked(folder, first.turn, refused);
    const second = await once(folder, message);
    expect(second.lagMs, 'the longest stretch that the event loop was held, ms').toBeLessThan(LAG_MS_MAX);
    return checked(folder, second.turn, refused);
  };

  return {
    installation,
    outside,
    probe: (folder, command, refused) => twice(folder, `run: ${command}`, refused),
    ask: twice,
    recorded,
    close: async () => {
      await installation.close();
      await rm(outside, { recursive: true, force: true });
    },
  };
};

/** Prints the host's answer to the request of that id, when it is there. */
export const answerTo = (id: string): string =>
  `for i in $(seq 80); do [ -s /workspace/ipc/input/${id}.json ] && break; sleep 0.1; done; ` +
  `cat /workspace/ipc/input/${id}.json`;

/** Writes a request as any process in the container can: whole, by a rename. */
export const request = (body: Readonly<Record<string, unknown>>, directory = 'messages'): string => {
  const at = `/workspace/ipc/${directory}`;
  const json = JSON.stringify(body).replaceAll("'", "'\\''");
  return `printf %s '${json}' > ${at}/.t && mv ${at}/.t ${at}/r-${String(body.id)}.json; ${answerTo(String(body.id))}`;
};
