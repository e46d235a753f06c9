/** The local channel: what is submitted comes in, what goes out reaches those who listen. */
import { userInfo } from 'node:os';
import { expect, test } from 'vitest';
import { createLocalChannel, type LocalEvent } from '../../src/channels/local.ts';
import { GroupId } from '../../src/domain/ids.ts';
import { InboundMessage } from '../../src/domain/message.ts';

const LOBBY = GroupId.parse('local:lobby');
const FRIENDS = GroupId.parse('local:friends');
const AT = Date.UTC(2026, 4, 17, 10);

const started = async () => {
  const received: InboundMessage[] = [];
  let count = 0;
  const channel = createLocalChannel({
    clock: () => AT,
    newId: () => {
      count += 1;
      return `m${count}`;
    },
  });
  await channel.start(async (message) => void received.push(message));
  return { channel, received };
};

test('a file is shown where it lies, with its caption before', async () => {
  const { channel } = await started();
  const heard: LocalEvent[] = [];
  channel.subscribe(LOBBY, (event) => heard.push(event));
  const file = { name: 'a.pdf', bytes: 3, path: '/home/x/data/outfiles/lobby/1/a.pdf' };
  expect(await channel.sendFile({ ...message('look'), file })).toBe('shown');
  await channel.sendFile({ ...message(''), file });
  expect(heard).toMatchObject([
    { kind: 'message', message: { file, text: `look\n[file "a.pdf", 3 bytes: ${file.path}]` } },
    { kind: 'message', message: { file, text: `[file "a.pdf", 3 bytes: ${file.path}]` } },
  ]);
});

const message = (text: string, chat = LOBBY) => ({ chat, text, invocation: null });

test('a submitted message comes in as the operator’s, and is a message by the schema', async () => {
  const { channel, received } = await started();
  expect(await channel.submit({ chat: LOBBY, text: 'hello' })).toEqual({ messageId: 'm1' });
  expect(received).toEqual([
    {
      chat: LOBBY,
      id: 'm1',
      senderId: 'operator',
      senderName: userInfo().username,
      text: 'hello',
      at: '2026-05-17T10:00:00.000Z',
      threadId: null,
      replyToId: null,
    },
  ]);
  expect(InboundMessage.parse(received[0])).toEqual(received[0]);
});

test('a submission resolves when it has been taken in, and fails when it can’t be', async () => {
  const channel = createLocalChannel({ clock: () => AT, newId: () => 'm' });
  await channel.start(async () => {
    throw new Error('disk full');
  });
  await expect(channel.submit({ chat: LOBBY, text: 'x' })).rejects.toThrow('disk full');
});

test.each(['before start', 'after close'])('nothing can be submitted %s', async (when) => {
  const channel = createLocalChannel({ clock: () => AT, newId: () => 'm' });
  if (when === 'after close') {
    await channel.start(async () => undefined);
    await channel.close();
    await channel.close();
  }
  await expect(channel.submit({ chat: LOBBY, text: 'x' })).rejects.toMatchObject({ code: 'not-running' });
});

test('messages and news reach the subscribers of their chat alone, in order', async () => {
  const { channel } = await started();
  const lobby: LocalEvent[] = [];
  const friends: LocalEvent[] = [];
  channel.subscribe(LOBBY, (event) => lobby.push(event));
  channel.subscribe(FRIENDS, (event) => friends.push(event));
  channel.follow(LOBBY, 'I1', { kind: 'started' });
  await channel.send(message('hi'));
  expect(lobby).toEqual([
    { kind: 'news', invocation: 'I1', news: { kind: 'started' } },
    { kind: 'message', message: message('hi') },
  ]);
  expect(friends).toEqual([]);
});

test('a message that nobody listens to is sent all the same', async () => {
  const { channel } = await started();
  await expect(channel.send(message('hi'))).resolves.toBeUndefined();
});

test('a subscription ends once, by itself and from within, and leaves its twin alone', async () => {
  const { channel } = await started();
  const heard: string[] = [];
  const listener = (event: LocalEvent): void => void heard.push(event.kind);
  const first = channel.subscribe(LOBBY, listener);
  channel.subscribe(LOBBY, listener);
  const own: (() => void)[] = [];
  own.push(channel.subscribe(LOBBY, () => own.pop()?.()));
  await channel.send(message('a'));
  expect(heard.length).toBe(2);
  first();
  first();
  await channel.send(message('b'));
  expect(heard.length).toBe(3);
  await channel.close();
  await channel.send(message('c'));
  expect(heard.length).toBe(3);
});
