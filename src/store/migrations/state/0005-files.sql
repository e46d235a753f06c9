-- A message may be a file with a caption: its name, size and the path of the host's own copy, as JSON.
ALTER TABLE outbox ADD COLUMN file TEXT;
