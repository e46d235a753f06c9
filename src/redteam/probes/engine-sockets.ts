/** Who speaks to the engine owns the machine. */
import { EVERY_TIER } from '../../domain/tiers.ts';
import { type InsideProbe, plainContainer } from '../probe.ts';
import { pythonProbe } from '../python.ts';

export const engineSockets: InsideProbe = {
  kind: 'inside',
  id: 'engine-sockets',
  topic: 'privileges',
  tries: 'to find a socket of Docker, containerd, Podman or CRI-O, and to speak to it',
  why: 'no plan mounts one',
  expected: { runc: EVERY_TIER },
  control: plainContainer,
  attempt: (kit) =>
    pythonProbe(
      kit,
      `
import socket
USUAL = ['/var/run/docker.sock', '/run/docker.sock', '/run/containerd/containerd.sock', '/run/podman/podman.sock', '/run/crio/crio.sock', '/var/run/dockershim.sock', '/run/user/1000/docker.sock']
for path in USUAL:
  if not os.path.exists(path): continue
  try:
    with socket.socket(socket.AF_UNIX) as engine:
      engine.connect(path)
      engine.send(b'GET /_ping HTTP/1.0\\r\\n\\r\\n')
      found(True, '%s says %s' % (path, engine.recv(15).decode()))
  except OSError as thrown: found(True, '%s is there: %s' % (path, failure(thrown)))
found(False, '%d usual paths, none there' % len(USUAL))
`,
    ),
};
