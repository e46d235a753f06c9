import { describe, expect, it } from 'vitest';
import { CELLAR, freshStores, LOBBY, message, openFile } from './fixture.ts';

describe('message history', () => {
  it('keeps a message once', () => {
    const { messages } = freshStores().stores;
    expect(messages.saveInbound(message('a'))).toBe(true);
    expect(messages.saveInbound(message('a', { text: 'other' }))).toBe(false);
    expect(messages.count(LOBBY)).toBe(1);
    expect(messages.recent(LOBBY, 5)).toMatchObject([{ id: 'a', text: 'text of a' }]);
  });

  it('gives the newest, oldest first, ours and theirs', () => {
    const { messages } = freshStores().stores;
    messages.saveInbound(message('a'));
    messages.saveInbound(message('b', { threadId: 't', replyToId: 'a' }));
    messages.saveOutgoing({ chat: LOBBY, text: 'answer', at: '2026-01-02T03:00:01.000Z', id: 'out' });
    expect(messages.recent(LOBBY, 2)).toEqual([
      {
        id: 'b',
        senderId: '7',
        senderName: 'Ada',
        text: 'text of b',
        at: '2026-01-02T03:00:00.000Z',
        fromMe: false,
        threadId: 't',
        replyToId: 'a',
      },
      {
        id: 'out',
        senderId: null,
        senderName: null,
        text: 'answer',
        at: '2026-01-02T03:00:01.000Z',
        fromMe: true,
        threadId: null,
        replyToId: null,
      },
    ]);
  });

  it('numbers messages within their chat, so that numbers tell nothing of other chats', () => {
    const { home, stores } = freshStores();
    for (const id of ['1', '2', '3']) stores.messages.saveInbound(message(id, { chat: CELLAR }));
    stores.messages.saveInbound(message('x'));
    stores.messages.saveInbound(message('4', { chat: CELLAR }));
    stores.messages.saveInbound(message('y'));
    const rows = openFile(home.messageDatabase).prepare('SELECT chat_id, seq FROM messages ORDER BY chat_id, seq');
    expect(rows.raw().all()).toEqual([
      [CELLAR, 1],
      [CELLAR, 2],
      [CELLAR, 3],
      [CELLAR, 4],
      [LOBBY, 1],
      [LOBBY, 2],
    ]);
  });

  it('describes a chat from its first message, and better when told', () => {
    const { home, stores } = freshStores();
    stores.messages.saveInbound(message('a', { at: '2026-01-02T03:00:00Z' }));
    stores.messages.saveInbound(message('late', { at: '2026-01-01T00:00:00.5Z' }));
    const chats = openFile(home.messageDatabase).prepare('SELECT * FROM chats');
    const row = { chat_id: LOBBY, channel: 'local', is_group: 1, last_message_at: '2026-01-02T03:00:00.000Z' };
    expect(chats.all()).toEqual([{ ...row, name: LOBBY }]);
    stores.messages.saveChat({ chat: LOBBY, name: 'The "Lobby"', channel: 'local', isGroup: false });
    expect(chats.all()).toEqual([{ ...row, name: 'The "Lobby"', is_group: 0 }]);
  });

  it('counts changes up, and only for changes', () => {
    const { messages } = freshStores().stores;
    const start = messages.changes();
    messages.saveInbound(message('a'));
    const saved = messages.changes();
    expect(saved).toBeGreaterThan(start);
    messages.recent(LOBBY, 1);
    expect(messages.changes()).toBe(saved);
  });
});
