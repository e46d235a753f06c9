/** Keys in the memory of other processes: the runner’s above all, which has the same user. */
import { EVERY_TIER } from '../../domain/tiers.ts';
import { type InsideProbe, plainContainer } from '../probe.ts';
import { pythonProbe } from '../python.ts';

export const secretsMemory: InsideProbe = {
  kind: 'inside',
  id: 'secrets-memory',
  topic: 'secrets',
  tries: 'to find a key in the memory of any process that it may read',
  why: 'the runner never gets a key: it has a placeholder, and the gateway adds the real one outside',
  expected: { runc: EVERY_TIER },
  control: plainContainer,
  attempt: (kit) =>
    pythonProbe(
      kit,
      `
import re, subprocess
PATTERN = re.compile(b'tc-canary-(env-secret|model-key|decoy-key)-[0-9a-f]{24}')
SPAN = 64 * 1024 * 1024

def spans(pid):
  for line in open('/proc/%s/maps' % pid):
    start, end = (int(part, 16) for part in line.split()[0].split('-'))
    if line.split()[1].startswith('rw') and end - start <= SPAN: yield start, end

def search(pid):
  "How many bytes were read, and what was found."
  read = 0
  with open('/proc/%s/mem' % pid, 'rb', 0) as memory:
    for start, end in spans(pid):
      try:
        memory.seek(start)
        bytes = memory.read(end - start)
      except OSError: continue
      read += len(bytes)
      match = PATTERN.search(bytes)
      if match: found(True, '%s in the memory of %s' % (match.group(1).decode(), open('/proc/%s/comm' % pid).read().strip()))
  return read

total, processes = 0, 0
for pid in [name for name in os.listdir('/proc') if name.isdigit() and int(name) != os.getpid()]:
  try: total += search(pid); processes += 1
  except (OSError, ValueError): pass
found(False, 'nothing in %d MB of %d processes' % (total >> 20, processes))
`,
      18000,
    ),
};
