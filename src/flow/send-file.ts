/**
 * Carries out `send_file`: from the path that a container names to a copy of the host's own on its way into a chat.
 * The container's file is opened once, checked by its descriptor, and never looked at again.
 */
import type { Audit } from '../audit.ts';
import { type GroupFolder, GroupId, type InvocationId } from '../domain/ids.ts';
import type { PlannedMount } from '../domain/plan.ts';
import type { OpenedFile } from '../files/at.ts';
import type { MessageRequest } from '../protocol.ts';
import type { Replier } from './reply.ts';
import { copyOut } from './send-file-copy.ts';
import { fileNameFor } from './send-file-name.ts';
import { openAsReader } from './send-file-open.ts';
import { type FilePlace, filePlace } from './send-file-place.ts';
import type { Shelf } from './send-file-shelf.ts';

/** Far below what networks take (Telegram 50 MB, Discord 10 to 500 MB), far above what a chat needs. */
export const FILE_BYTES_MAX = 20 * 1024 * 1024;
/** Of one turn: copying is the host's disk at work. */
const TURN_FILES_MAX = 20;
const TURN_BYTES_MAX = 100 * 1024 * 1024;

export type SendFileRequest = Extract<MessageRequest, { type: 'send_file' }>;

/** What one turn has sent up to now. */
export interface FileAllowance {
  files: number;
  bytes: number;
}

export const newAllowance = (): FileAllowance => ({ files: 0, bytes: 0 });

/** Whose request it is, and how that container sees the host. */
export interface FileAsker {
  readonly group: GroupId;
  readonly folder: GroupFolder;
  readonly invocation: InvocationId;
  readonly mounts: readonly PlannedMount[];
  readonly uid: number;
  readonly allowance: FileAllowance;
}

export interface FileOutcome {
  /** `kept`: allowed and copied, but not delivered yet. */
  readonly kind: 'sent' | 'kept' | 'refused';
  /** The agent sees it. */
  readonly detail: string;
}

export interface FileSenderOptions {
  readonly replier: Replier;
  readonly shelf: Shelf;
  readonly audit: Audit;
}

interface Sending {
  readonly asker: FileAsker;
  readonly request: SendFileRequest;
  readonly chat: GroupId;
  readonly place: FilePlace;
}

const refused = (detail: string): FileOutcome => ({ kind: 'refused', detail });

/** Counts an attempt; says why there is none left. */
const spend = (allowance: FileAllowance, bytes: number): string | null => {
  if (allowance.files >= TURN_FILES_MAX) return `at most ${TURN_FILES_MAX} files are sent in one turn`;
  if (allowance.bytes + bytes > TURN_BYTES_MAX) return `at most ${TURN_BYTES_MAX} bytes of files are sent in one turn`;
  allowance.files += 1;
  allowance.bytes += bytes;
  return null;
};

const createCopySender = ({ replier, shelf, audit }: FileSenderOptions) => {
  const deliver = async ({ asker, request, chat }: Sending, copy: { path: string; name: string; bytes: number }) => {
    const sent = await replier.deliver({ chat, text: request.caption ?? '', invocation: asker.invocation, file: copy });
    return sent
      ? ({ kind: 'sent', detail: `sent "${copy.name}" (${copy.bytes} bytes) to ${chat}` } as const)
      : ({ kind: 'kept', detail: `"${copy.name}" is not delivered to ${chat} yet; it is kept` } as const);
  };

  return async (sending: Sending, file: OpenedFile): Promise<FileOutcome> => {
    const { asker, request, chat, place } = sending;
    const original = place.names.at(-1) ?? '';
    const name = fileNameFor(original);
    const path = await shelf.place(asker.folder, name, file.size);
    let isDelivering = false;
    try {
      const copied = await copyOut(file, path, original);
      if (!copied.ok) return refused(copied.detail);
      const { bytes, sha256 } = copied.value;
      const { group, invocation } = asker;
      audit.record({ kind: 'file-sent', group, invocation, chat, path: request.path, bytes, sha256 });
      isDelivering = true; // From here on the outbox owns the copy.
      return await deliver(sending, { path, name, bytes });
    } finally {
      if (!isDelivering) await shelf.remove(path);
    }
  };
};

/** Whether the asker may address that chat has been decided before. Throws on a full disk and the like. */
export const createFileSender = (options: FileSenderOptions) => {
  const sendCopy = createCopySender(options);
  return async (asker: FileAsker, request: SendFileRequest): Promise<FileOutcome> => {
    const chat = GroupId.parse(request.chat ?? asker.group);
    if (!options.replier.canSendFiles(chat)) return refused(`no files can be sent to ${chat}: its network takes none`);
    const place = filePlace(asker.mounts, request.path);
    if (!place.ok) return refused(place.reason);
    const file = await openAsReader(place, { uid: asker.uid, maxBytes: FILE_BYTES_MAX });
    if (!file.ok) return refused(file.detail);
    try {
      const spent = spend(asker.allowance, file.value.size);
      return spent === null ? await sendCopy({ asker, request, chat, place }, file.value) : refused(spent);
    } finally {
      await file.value.handle.close();
    }
  };
};
