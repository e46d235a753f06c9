-- What groups use of their model budgets. A request is counted before it is made: tokens and money first with all that
-- it may use, then with what it did use; what a crash left open stays counted in full.

-- day: YYYY-MM-DD, UTC.
CREATE TABLE spend_days (
  group_id TEXT NOT NULL,
  day TEXT NOT NULL,
  requests INTEGER NOT NULL,
  input_tokens INTEGER NOT NULL,
  output_tokens INTEGER NOT NULL,
  nano_usd INTEGER NOT NULL,
  PRIMARY KEY (group_id, day)
) STRICT, WITHOUT ROWID;

-- The newest requests, as many as a minute may have; seq counts a group's requests in their order.
CREATE TABLE spend_requests (
  group_id TEXT NOT NULL,
  seq INTEGER NOT NULL,
  at_ms INTEGER NOT NULL,
  PRIMARY KEY (group_id, seq)
) STRICT, WITHOUT ROWID;

-- The latest time that a budget has seen: it must not see an earlier one after a restart.
CREATE TABLE spend_clock (
  one INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
  at_ms INTEGER NOT NULL
) STRICT;
