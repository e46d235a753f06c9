/** A fresh home on disk, a clock that stands where it is put, and values of the branded types. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { onTestFinished } from 'vitest';
import type { Group } from '../../src/domain/group.ts';
import { AgentAlias, GroupFolder, GroupId, InvocationId } from '../../src/domain/ids.ts';
import type { InboundMessage } from '../../src/domain/message.ts';
import { DEFAULT_TIER } from '../../src/domain/tiers.ts';
import { type Home, homeAt } from '../../src/home.ts';
import { openStores, type Stores } from '../../src/store/stores.ts';

export const freshDirectory = (): string => {
  const directory = mkdtempSync(join(tmpdir(), 'tierclaw-store-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
};

export const freshHome = (): Home => homeAt(freshDirectory());

/** 2026-01-02T03:04:05.000Z until it is moved. */
export class StandingClock {
  ms = Date.UTC(2026, 0, 2, 3, 4, 5);
  readonly read = (): number => this.ms;
}

export interface OpenHome {
  readonly home: Home;
  readonly clock: StandingClock;
  readonly stores: Stores;
}

export const freshStores = (): OpenHome => {
  const home = freshHome();
  const clock = new StandingClock();
  const stores = openStores(home, clock.read);
  onTestFinished(() => stores.close());
  return { home, clock, stores };
};

/** Closed when the test is over. */
export const openFile = (file: string, options?: Database.Options): Database.Database => {
  const database = new Database(file, options);
  onTestFinished(() => {
    database.close();
  });
  return database;
};

export const LOBBY = GroupId.parse('local:lobby');
export const CELLAR = GroupId.parse('local:cellar');

export const invocationId = (number: number): InvocationId =>
  InvocationId.parse(`01HZZZZZZZZZZZZZZZZZZZ${String(number).padStart(4, '0')}`);

export const group = (change: Partial<Group> = {}): Group => ({
  id: LOBBY,
  name: 'Lobby',
  folder: GroupFolder.parse('lobby'),
  tier: DEFAULT_TIER,
  agent: AgentAlias.parse('default'),
  registeredAt: '2026-01-01T00:00:00.000Z',
  ...change,
});

export const message = (id: string, change: Partial<InboundMessage> = {}): InboundMessage => ({
  chat: LOBBY,
  id,
  senderId: '7',
  senderName: 'Ada',
  text: `text of ${id}`,
  at: '2026-01-02T03:00:00Z',
  threadId: null,
  replyToId: null,
  ...change,
});
