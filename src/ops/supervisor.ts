/** The supervisor as the command line sees it: status, chat, cancel, shutdown. */
import type { Audit } from '../audit.ts';
import type { Config } from '../config.ts';
import type { Queue } from '../flow/queue.ts';
import type { DiskGuard } from '../flow/quota.ts';
import type { EngineReport } from '../runtimes/runtime.ts';
import type { Stores } from '../store/stores.ts';
import type { ControlledSupervisor, StatusReport } from './control-protocol.ts';
import { createLocalChat, type LocalChatOptions } from './local-chat.ts';

export interface SupervisorOptions extends LocalChatOptions {
  readonly homeDir: string;
  readonly version: string;
  readonly config: Config;
  readonly image: string;
  readonly concurrent: number;
  readonly stores: Stores;
  readonly queue: Queue;
  readonly audit: Audit;
  /** null: the engine could not be reached when it was last asked. */
  readonly engine: () => EngineReport | null;
  readonly disk: Pick<DiskGuard, 'low'>;
  readonly shutdown: () => void;
  readonly clock: () => number;
}

const runningOf = ({ stores, queue, clock }: SupervisorOptions): StatusReport['running'] =>
  queue.running().flatMap(({ invocation }) => {
    const record = stores.invocations.get(invocation);
    if (record === null) return []; // Dispatched this very moment: its record comes with its plan.
    const { group, tier, state, createdAt } = record;
    return [{ invocation, group, tier, state, ageMs: clock() - Date.parse(createdAt) }];
  });

export const createSupervisor = (options: SupervisorOptions): ControlledSupervisor => {
  const startedAt = new Date(options.clock()).toISOString();
  return {
    status: () => {
      const engine = options.engine();
      const auditTrouble = options.audit.trouble();
      return {
        pid: process.pid,
        home: options.homeDir,
        version: options.version,
        startedAt,
        engine: engine && { name: engine.name, version: engine.version, apiVersion: engine.apiVersion },
        image: options.image,
        ...(auditTrouble === null ? {} : { auditTrouble }),
        provider: options.config.provider,
        concurrent: options.concurrent,
        lowDisks: [...options.disk.low()],
        waiting: options.stores.inbound.waiting().map(({ group, session, messages }) => ({ group, session, messages })),
        running: runningOf(options),
      };
    },
    chat: createLocalChat(options),
    cancel: (invocation) => options.queue.cancel(invocation),
    record: ({ kind, group, details }) => options.audit.record({ ...details, kind, group }),
    shutdown: options.shutdown,
  };
};
