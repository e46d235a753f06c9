/** Both databases of a home, open, with one store per noun. The supervisor's process is the only writer. */
import { chmodSync, mkdirSync } from 'node:fs';
import type { Home } from '../home.ts';
import { openDatabase } from './database.ts';
import { DeadMessageStore } from './dead-messages.ts';
import { GroupStore } from './groups.ts';
import { InboundStore } from './inbound.ts';
import { InvocationStore } from './invocations.ts';
import { MessageStore } from './messages.ts';
import { OutboxStore } from './outbox.ts';
import { createPatience, type WhenFree } from './patience.ts';
import { ReceiptStore } from './receipts.ts';
import { SessionStore } from './sessions.ts';
import { SpendStore } from './spend.ts';

export interface Stores {
  readonly groups: GroupStore;
  readonly inbound: InboundStore;
  readonly deadMessages: DeadMessageStore;
  readonly sessions: SessionStore;
  readonly invocations: InvocationStore;
  readonly outbox: OutboxStore;
  readonly receipts: ReceiptStore;
  readonly spend: SpendStore;
  readonly messages: MessageStore;
  /** Runs `work` in one transaction of the state database (not of the messages'): all of it is done, or nothing. */
  together<T>(work: () => T): T;
  /** For whatever a locked database must not keep from being written; the event loop goes on meanwhile. */
  readonly whenFree: WhenFree;
  /**
   * Writes messages into the history that were accepted but not written there before a crash; says how many. To be
   * called at start-up; a second call finds nothing to do.
   */
  recoverMessages(): number;
  /** Idempotent. */
  close(): void;
}

/**
 * Opens and migrates; `clock` gives milliseconds since 1970, `busyTimeoutMs` is how long a statement waits for another
 * process (default: 5 s). Throws AppError `config` or `conflict` naming the file.
 */
export const openStores = (home: Home, clock: () => number, busyTimeoutMs?: number): Stores => {
  mkdirSync(home.data, { recursive: true, mode: 0o700 });
  chmodSync(home.data, 0o700);
  const common = { backups: home.backups, clock, busyTimeoutMs };
  const state = openDatabase({ ...common, name: 'state', file: home.stateDatabase });
  const history = orClose(state, () => openDatabase({ ...common, name: 'messages', file: home.messageDatabase }));
  const inbound = new InboundStore(state, clock);
  const messages = new MessageStore(history);
  const spend = new SpendStore(state, { wallMs: clock, monotonicMs: () => performance.now() });
  return {
    groups: new GroupStore(state),
    inbound,
    deadMessages: new DeadMessageStore(state),
    sessions: new SessionStore(state),
    invocations: new InvocationStore(state),
    outbox: new OutboxStore(state, clock),
    receipts: new ReceiptStore(state, clock),
    spend,
    messages,
    together: (work) => state.transaction(work).immediate(),
    whenFree: createPatience(),
    recoverMessages: () => inbound.unsettled().filter((message) => messages.saveInbound(message)).length,
    close: () => {
      history.close();
      orClose(state, () => spend.write());
      state.close();
    },
  };
};

const orClose = <T>(opened: { close(): unknown }, open: () => T): T => {
  try {
    return open();
  } catch (thrown) {
    opened.close();
    throw thrown;
  }
};
