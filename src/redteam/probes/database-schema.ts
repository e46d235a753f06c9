/** Tables without a chat, which nobody has filtered. */
import { OUTSIDER_TIERS } from '../../domain/tiers.ts';
import { type InsideProbe, plainContainer } from '../probe.ts';
import { pythonProbe } from '../python.ts';

export const databaseSchema: InsideProbe = {
  kind: 'inside',
  id: 'database-schema',
  topic: 'database',
  tries: 'to find a table that is not about chats',
  why: 'a table without the chat’s key is not copied',
  expected: { runc: OUTSIDER_TIERS },
  elsewhere: 'these tiers read all chats',
  control: plainContainer,
  attempt: (kit) =>
    pythonProbe(
      kit,
      `
import sqlite3
store = sqlite3.connect('file:/workspace/store/messages.db?mode=ro', uri=True)

tables = [name for (name,) in store.execute("select name from sqlite_master where type = 'table' and name not like 'sqlite_%'")]
others = [table for table in tables if 'chat_id' not in [row[1] for row in store.execute('pragma table_info("%s")' % table)]]
kinds = [kind for (kind,) in store.execute("select distinct type from sqlite_master") if kind in ('view', 'trigger')]
found(len(others + kinds) > 0, 'others: %s' % (', '.join(others + kinds) or 'none of %d' % len(tables)))
`,
    ),
};
