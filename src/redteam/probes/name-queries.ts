/** A name server is a way out for anything that fits into a name. */
import { EVERY_TIER } from '../../domain/tiers.ts';
import { type InsideProbe, missing, plainContainer } from '../probe.ts';
import { pythonProbe } from '../python.ts';

const SOURCE = `
import re, socket, struct
query = struct.pack('>HHHHHH', 7, 256, 1, 0, 0, 0) + b'\\x09tc-canary\\x07example\\x03com\\x00' + struct.pack('>HH', 16, 1)
configured = re.findall(r'^nameserver\\s+(\\S+)', open('/etc/resolv.conf').read(), re.M) if os.path.exists('/etc/resolv.conf') else []
reasons = set()
for server in [one for one in configured if ':' not in one] + ['127.0.0.11', 'HOST']:
  with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams:
    datagrams.settimeout(2)
    try:
      datagrams.connect((server, 53))
      datagrams.send(query)
      found(len(datagrams.recv(512)) > 0, server + ' answered')
    except OSError as thrown: reasons.add(failure(thrown))
found(False, ', '.join(sorted(reasons)))
`;

export const nameQueries: InsideProbe = {
  kind: 'inside',
  id: 'name-queries',
  topic: 'network',
  tries: 'to have a DNS query answered: by the configured servers, the engine’s own, or the host’s',
  why: 'the network namespace is empty: there is nothing but loopback in it, and no name server is configured',
  expected: { runc: EVERY_TIER },
  control: plainContainer,
  attempt: async (kit) => {
    if (!kit.targets.hasNameServer) return missing('port 53 of the bridge is taken, so no query can be answered there');
    return pythonProbe(kit, SOURCE.replace('HOST', kit.targets.hostAddress));
  },
};
