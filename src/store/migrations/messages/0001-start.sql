-- What containers may see. Every table that belongs to a chat has the column chat_id, and its key begins with it:
-- the filtered copy of a chat takes exactly those tables and reads them by that key.
-- Must stay readable by SQLite 3.40, the one in the image.

CREATE TABLE chats (
  chat_id TEXT NOT NULL PRIMARY KEY,
  name TEXT NOT NULL,
  channel TEXT NOT NULL,
  is_group INTEGER NOT NULL CHECK (is_group IN (0, 1)),
  last_message_at TEXT
) STRICT, WITHOUT ROWID;

-- seq counts within the chat: a number for the whole store would show other chats' traffic.
CREATE TABLE messages (
  chat_id TEXT NOT NULL REFERENCES chats (chat_id) ON DELETE CASCADE,
  seq INTEGER NOT NULL,
  id TEXT NOT NULL,
  thread_id TEXT,
  sender_id TEXT,
  sender_name TEXT,
  content TEXT NOT NULL,
  sent_at TEXT NOT NULL,
  is_from_me INTEGER NOT NULL DEFAULT 0 CHECK (is_from_me IN (0, 1)),
  reply_to_id TEXT,
  edited_at TEXT,
  PRIMARY KEY (chat_id, seq),
  UNIQUE (chat_id, id)
) STRICT, WITHOUT ROWID;

-- No reference to messages: networks report reactions to messages from before the bot's time.
CREATE TABLE reactions (
  chat_id TEXT NOT NULL,
  message_id TEXT NOT NULL,
  sender_id TEXT NOT NULL,
  emoji TEXT NOT NULL,
  sender_name TEXT,
  reacted_at TEXT NOT NULL,
  PRIMARY KEY (chat_id, message_id, sender_id, emoji)
) STRICT, WITHOUT ROWID;

CREATE TABLE attachments (
  chat_id TEXT NOT NULL,
  message_id TEXT NOT NULL,
  position INTEGER NOT NULL,
  file_name TEXT NOT NULL,
  media_type TEXT,
  bytes INTEGER,
  path TEXT,
  PRIMARY KEY (chat_id, message_id, position),
  FOREIGN KEY (chat_id, message_id) REFERENCES messages (chat_id, id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
