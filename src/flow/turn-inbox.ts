/** Opens the inbox that a turn's plan describes and connects it: to the performer, the audit trail, the snapshots. */
import type { Logger } from 'pino';
import type { Audit } from '../audit.ts';
import type { InvocationPlan } from '../domain/plan.ts';
import type { Directory } from '../files/beneath.ts';
import type { Stores } from '../store/stores.ts';
import { INBOX_LIMITS, type Inbox, openInbox } from './ipc.ts';
import type { InboxFault } from './ipc-intake.ts';
import type { Asker, Performer } from './perform.ts';
import { newAllowance } from './send-file.ts';

export interface TurnInboxRequest {
  readonly plan: InvocationPlan;
  readonly directory: string;
  readonly poke: () => void;
  /** Something went into a chat. */
  readonly spoken: () => void;
  /** More files than a turn may write: it has to end. */
  readonly flooded: (detail: string) => void;
}

export type InboxOpener = (request: TurnInboxRequest) => Promise<Inbox>;

export interface InboxOpenerOptions {
  readonly stores: Stores;
  readonly quarantine: Directory;
  readonly audit: Audit;
  readonly perform: Performer;
  readonly logger: Logger;
}

/** All chats for whoever may address any; else the own one. */
const availableGroups = (plan: InvocationPlan, stores: Stores) =>
  stores.groups
    .list()
    .filter(({ id }) => plan.rights.mayAddress === 'any-chat' || id === plan.group.id)
    .map(({ id, name, folder }) => ({ id, name, folder }));

const writeSnapshots = async (inbox: Inbox, plan: InvocationPlan, stores: Stores): Promise<void> => {
  await inbox.writeSnapshot('available_groups.json', availableGroups(plan, stores));
  await inbox.writeSnapshot('current_tasks.json', []);
};

export const createInboxOpener =
  ({ stores, quarantine, audit, perform, logger }: InboxOpenerOptions): InboxOpener =>
  async ({ plan, directory, poke, spoken, flooded }) => {
    const { group, rights, invocation, mounts, uid } = plan;
    const allowance = newAllowance();
    const asker: Asker = { group: group.id, folder: group.folder, rights, invocation, mounts, uid, allowance };
    const layout = plan.mounts.some(({ content }) => content === 'ipc') ? 'whole' : 'split';
    const refused = (kind: InboxFault | 'flood', detail: string): void =>
      audit.record({ kind: `ipc-${kind}`, group: plan.group.id, invocation: plan.invocation, tier: plan.tier, detail });
    const inbox = await openInbox({
      directory,
      layout,
      uid: plan.uid,
      quarantine,
      limits: INBOX_LIMITS,
      onRequest: async (request) => {
        const performed = await perform(asker, request, request);
        if (performed.ok) spoken();
        return performed;
      },
      onOther: (request) => perform(asker, request, null),
      onRefusal: refused,
      onFlood: (detail) => {
        refused('flood', detail);
        flooded(detail);
      },
      onError: (err) => logger.error({ err }, 'an IPC file could not be handled'),
      poke,
    });
    if (layout === 'whole') await writeSnapshots(inbox, plan, stores);
    return inbox;
  };
