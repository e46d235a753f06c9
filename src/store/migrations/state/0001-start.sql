-- What containers may not see. No container and no model's request ever reaches this file.

-- sole is 1 for the one group of the tier that only one group may have, else NULL: UNIQUE lets NULL repeat.
CREATE TABLE groups (
  id TEXT NOT NULL PRIMARY KEY,
  name TEXT NOT NULL,
  folder TEXT NOT NULL UNIQUE,
  tier TEXT NOT NULL,
  agent TEXT NOT NULL,
  registered_at TEXT NOT NULL,
  sole INTEGER UNIQUE CHECK (sole = 1)
) STRICT;

-- A row appears with the first new epoch; without one the epoch is 1.
CREATE TABLE sessions (
  group_id TEXT NOT NULL,
  name TEXT NOT NULL,
  epoch INTEGER NOT NULL,
  PRIMARY KEY (group_id, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE transcripts (
  group_id TEXT NOT NULL,
  session TEXT NOT NULL,
  epoch INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  entry TEXT NOT NULL,
  bytes INTEGER NOT NULL,
  PRIMARY KEY (group_id, session, epoch, seq)
) STRICT;

-- The durable queue. seq is the order of acceptance; (chat_id, message_id) keeps a message from being taken in twice,
-- so a row outlives its payload.
CREATE TABLE inbound (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  chat_id TEXT NOT NULL,
  message_id TEXT NOT NULL,
  group_id TEXT NOT NULL,
  session TEXT NOT NULL,
  payload TEXT,
  status TEXT NOT NULL DEFAULT 'waiting' CHECK (status IN ('waiting', 'running', 'done', 'failed', 'dead')),
  invocation TEXT,
  received_at INTEGER NOT NULL,
  -- Turns that had it and failed for a reason that may pass.
  attempts INTEGER NOT NULL DEFAULT 0,
  -- Not before this moment (ms) may a turn take it again.
  not_before INTEGER NOT NULL DEFAULT 0,
  -- Why it failed last, for the operator.
  error TEXT,
  UNIQUE (chat_id, message_id)
) STRICT;
CREATE INDEX inbound_waiting ON inbound (group_id, session, seq) WHERE status = 'waiting';
CREATE INDEX inbound_running ON inbound (invocation) WHERE status = 'running';
CREATE INDEX inbound_dead ON inbound (seq) WHERE status = 'dead';
CREATE INDEX inbound_settled ON inbound (received_at) WHERE payload IS NOT NULL AND status IN ('done', 'failed');

CREATE TABLE invocations (
  id TEXT NOT NULL PRIMARY KEY,
  group_id TEXT NOT NULL,
  session TEXT NOT NULL,
  tier TEXT NOT NULL,
  agent TEXT NOT NULL,
  state TEXT NOT NULL,
  reason TEXT,
  detail TEXT,
  queued_ms REAL,
  staged_ms REAL,
  started_ms REAL,
  first_model_request_ms REAL,
  total_ms REAL,
  created_at TEXT NOT NULL
) STRICT;
CREATE INDEX invocations_by_group ON invocations (group_id, id);
CREATE INDEX invocations_unfinished ON invocations (id) WHERE state <> 'ended';

CREATE TABLE outbox (
  id TEXT NOT NULL PRIMARY KEY,
  invocation TEXT,
  chat_id TEXT NOT NULL,
  text TEXT NOT NULL,
  status TEXT NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'sent', 'dead')),
  attempts INTEGER NOT NULL DEFAULT 0,
  created_at TEXT NOT NULL,
  next_at TEXT NOT NULL,
  sent_at TEXT,
  error TEXT
) STRICT;
CREATE INDEX outbox_by_chat ON outbox (chat_id, id);
CREATE INDEX outbox_pending ON outbox (id) WHERE status = 'pending';
