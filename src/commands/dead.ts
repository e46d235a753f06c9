/** `tierclaw dead list|show|replay|drop`: messages that nobody answered and replies that no network took. */
import { AppError } from '../errors.ts';
import type { DeadMessage } from '../store/dead-messages.ts';
import type { OutboxRow } from '../store/outbox.ts';
import type { Stores } from '../store/stores.ts';
import type { CommandContext, CommandResult } from './context.ts';
import { findGroup, withStores } from './groups-find.ts';
import { putOnRecord } from './on-record.ts';
import { renderTable } from './table.ts';
import { terminalLine, terminalText } from './terminal.ts';

/** One dead letter of either kind, as it is printed. */
interface Letter {
  /** `m<number>` for a message to answer, `r<ULID>` for a reply to deliver. */
  readonly id: string;
  readonly kind: 'message' | 'reply';
  readonly chat: string;
  /** ISO 8601, UTC. */
  readonly at: string;
  readonly attempts: number;
  readonly error: string | null;
  readonly from: string | null;
  readonly text: string;
}

export interface DeadSelection {
  readonly group?: string;
  readonly all?: boolean;
}

const EXCERPT_CHARS = 40;
/** Of the ids that go on record; how many they are does always. */
const IDS_CHARS_MAX = 1500;

const ofMessage = ({ seq, receivedAt, attempts, error, message }: DeadMessage): Letter => ({
  id: `m${seq}`,
  kind: 'message',
  chat: message.chat,
  at: new Date(receivedAt).toISOString(),
  attempts,
  error,
  from: message.senderName,
  text: message.text,
});

const ofReply = ({ id, chat, createdAt, attempts, error, text }: OutboxRow): Letter => ({
  id: `r${id}`,
  kind: 'reply',
  chat,
  at: createdAt,
  attempts,
  error,
  from: null,
  text,
});

const lettersOf = ({ deadMessages, outbox }: Stores): Letter[] => [
  ...deadMessages.list().map(ofMessage),
  ...outbox.dead().map(ofReply),
];

const excerpt = (text: string): string => {
  const line = terminalLine(text);
  return line.length > EXCERPT_CHARS ? `${line.slice(0, EXCERPT_CHARS)}…` : line;
};

const noSuch = (id: string): AppError =>
  new AppError({
    code: 'not-found',
    message: `there is no dead letter "${terminalLine(id)}"`,
    hint: 'tierclaw dead list shows their ids',
  });

const inGroup = (stores: Stores, group: string | undefined): Letter[] => {
  if (group === undefined) return lettersOf(stores);
  const { id } = findGroup(stores, group);
  return lettersOf(stores).filter(({ chat }) => chat === id);
};

const selected = (stores: Stores, ids: readonly string[], { group, all }: DeadSelection): Letter[] => {
  if (ids.length === 0 && group === undefined && all !== true) {
    throw new AppError({
      code: 'usage',
      message: 'name dead letters by their ids, or take those of a group (--group) or --all',
      hint: 'tierclaw dead list',
    });
  }
  const letters = inGroup(stores, group);
  return ids.length === 0 ? letters : ids.map((id) => letters.find((letter) => letter.id === id) ?? fail(id));
};

const fail = (id: string): never => {
  throw noSuch(id);
};

export const listDead = ({ home }: CommandContext, { group }: DeadSelection): Promise<CommandResult> =>
  withStores(home, (stores) => {
    const letters = inGroup(stores, group);
    if (letters.length === 0) return { text: 'no dead letters', data: [] };
    const rows = letters.map(({ id, kind, chat, at, attempts, error, text }) => [
      ...[id, kind, terminalLine(chat), at, `${attempts}`, excerpt(error ?? ''), excerpt(text)],
    ]);
    const table = renderTable([['id', 'what', 'chat', 'since', 'tries', 'why', 'text'], ...rows]);
    return { text: `${table}\n\nnext: tierclaw dead replay <id>, or tierclaw dead drop <id>`, data: letters };
  });

export const showDead = ({ home }: CommandContext, id: string): Promise<CommandResult> =>
  withStores(home, (stores) => {
    const [letter = fail(id)] = lettersOf(stores).filter((one) => one.id === id);
    const head = [
      ['id', letter.id],
      ['what', letter.kind],
      ['chat', terminalLine(letter.chat)],
      ['from', terminalLine(letter.from ?? '–')],
      ['since', letter.at],
      ['tries', `${letter.attempts}`],
      ['why', terminalLine(letter.error ?? '–')],
    ];
    return { text: `${renderTable(head)}\n\n${terminalText(letter.text)}`, data: letter };
  });

type Act = (stores: Stores, letter: Letter) => void;

const replayOne: Act = ({ deadMessages, outbox }, { id, kind }) => {
  if (kind === 'reply') outbox.replay(id.slice(1));
  else if (!deadMessages.replay(Number(id.slice(1)))) throw noSuch(id);
};

const dropOne: Act = ({ deadMessages, outbox }, { id, kind }) => {
  const dropped = kind === 'reply' ? outbox.drop(id.slice(1)) : deadMessages.drop(Number(id.slice(1)));
  if (!dropped) throw noSuch(id);
};

const actOn =
  (kind: 'dead-replayed' | 'dead-dropped', act: Act, done: string) =>
  ({ home }: CommandContext, ids: readonly string[], selection: DeadSelection): Promise<CommandResult> =>
    withStores(home, async (stores) => {
      const letters = selected(stores, ids, selection);
      const named = letters
        .map(({ id }) => id)
        .join(' ')
        .slice(0, IDS_CHARS_MAX);
      if (letters.length > 0) await putOnRecord(home, { kind, details: { letters: letters.length, ids: named } });
      stores.together(() => {
        for (const letter of letters) act(stores, letter);
      });
      return { text: `${letters.length} ${done}`, data: letters.map(({ id }) => id) };
    });

/** A running supervisor finds them within a second. */
export const replayDead = actOn(
  'dead-replayed',
  replayOne,
  'put back; a running supervisor takes them up within a second',
);

export const dropDead = actOn('dead-dropped', dropOne, 'dropped; their texts stay in the chat’s history');
