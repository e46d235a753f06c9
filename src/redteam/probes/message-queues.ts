/** Queues in the kernel outlive programs and count against the host. */
import { OUTSIDER_TIERS } from '../../domain/tiers.ts';
import { type InsideProbe, plainContainer } from '../probe.ts';
import { pythonProbe } from '../python.ts';

export const messageQueues: InsideProbe = {
  kind: 'inside',
  id: 'message-queues',
  topic: 'limits',
  tries: 'to make a message queue',
  why: '/dev/mqueue is covered, and the limit on bytes in queues is 0',
  expected: { runc: OUTSIDER_TIERS },
  elsewhere: 'the queues are the turn’s own there and go with its IPC namespace',
  control: plainContainer,
  attempt: (kit) =>
    pythonProbe(
      kit,
      `
rt = ctypes.CDLL('librt.so.1', use_errno=True)
result = rt.mq_open(b'/tc-probe', os.O_CREAT | os.O_RDWR, 0o600, None)
if result < 0: found(False, 'mq_open: ' + errno.errorcode.get(ctypes.get_errno(), ''))
rt.mq_unlink(b'/tc-probe')
found(True, 'mq_open: made')
`,
    ),
};
