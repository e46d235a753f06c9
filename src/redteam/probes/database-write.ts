/** A row that others would read. */
import { EVERY_TIER } from '../../domain/tiers.ts';
import { type InsideProbe, plainContainer } from '../probe.ts';
import { pythonProbe } from '../python.ts';

export const databaseWrite: InsideProbe = {
  kind: 'inside',
  id: 'database-write',
  topic: 'database',
  tries: 'to change the message database, or its journal mode',
  why: 'the copy is mounted read-only and is never read back',
  expected: { runc: EVERY_TIER },
  control: plainContainer,
  attempt: (kit) =>
    pythonProbe(
      kit,
      `
import sqlite3
reasons = []
for statement in ('create table tc_probe (a)', 'delete from messages', 'pragma journal_mode = wal'):
  store = sqlite3.connect('/workspace/store/messages.db')
  try:
    answer = store.execute(statement).fetchone()
    if not statement.startswith('pragma') or answer == ('wal',): found(True, statement + ': done')
    reasons.append('journal mode stays %s' % answer)
  except sqlite3.Error as thrown: reasons.append(str(thrown))
  finally: store.close()
found(False, '; '.join(reasons))
`,
    ),
};
