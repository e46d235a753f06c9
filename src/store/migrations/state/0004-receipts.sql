-- What a turn's container says it has done: one row per tool call, bounded per turn by the program.
CREATE TABLE receipts (
  invocation TEXT NOT NULL,
  seq INTEGER NOT NULL,
  tool TEXT NOT NULL,
  arguments_digest TEXT NOT NULL,
  outcome TEXT NOT NULL CHECK (outcome IN ('ok', 'error', 'cancelled')),
  at TEXT NOT NULL,
  PRIMARY KEY (invocation, seq)
) STRICT, WITHOUT ROWID;

-- What a turn asked of the model, as the gateway counted it; written once, when the turn's socket has closed.
CREATE TABLE model_use (
  invocation TEXT NOT NULL PRIMARY KEY,
  requests INTEGER NOT NULL,
  refusals INTEGER NOT NULL,
  input_tokens INTEGER NOT NULL,
  output_tokens INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
