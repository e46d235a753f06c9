/** What other chats have said. */
import { OUTSIDER_TIERS } from '../../domain/tiers.ts';
import { type InsideProbe, plainContainer } from '../probe.ts';
import { pythonProbe } from '../python.ts';

export const otherChatsRows: InsideProbe = {
  kind: 'inside',
  id: 'other-chats-rows',
  topic: 'database',
  tries: 'to read a row of another chat',
  why: 'the turn gets a copy that was filled with its own chat’s rows',
  expected: { runc: OUTSIDER_TIERS },
  elsewhere: 'these tiers read all chats',
  control: plainContainer,
  attempt: (kit) =>
    pythonProbe(
      kit,
      `
import sqlite3
store = sqlite3.connect('file:/workspace/store/messages.db?mode=ro', uri=True)

foreign = 0
tables = [name for (name,) in store.execute("select name from sqlite_master where type = 'table' and name not like 'sqlite_%'")]
for table in tables:
  columns = [row[1] for row in store.execute('pragma table_info("%s")' % table)]
  if 'chat_id' in columns: foreign += store.execute('select count(*) from "%s" where chat_id <> ?' % table, ('${kit.targets.ownChat}',)).fetchone()[0]
found(foreign > 0, '%d rows of other chats in %d tables' % (foreign, len(tables)))
`,
    ),
};
