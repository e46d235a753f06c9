/** Programs that start with their owner’s rights. */
import { EVERY_TIER } from '../../domain/tiers.ts';
import { type InsideProbe, plainContainer } from '../probe.ts';
import { pythonProbe } from '../python.ts';

export const suidProgram: InsideProbe = {
  kind: 'inside',
  id: 'suid-program',
  topic: 'privileges',
  tries: 'to become root through a program with the setuid bit',
  why: 'the image has none, and no_new_privs makes one without effect',
  expected: { runc: EVERY_TIER },
  control: plainContainer,
  attempt: (kit) =>
    pythonProbe(
      kit,
      `
import shutil, subprocess
SHOW = 'import os; print(os.geteuid())'

def planted():
  "Only root can plant one that is worth anything; then it is used as somebody else."
  if os.geteuid() != 0: return []
  shutil.copy(os.path.realpath('/usr/bin/python3'), '/usr/local/bin/tc-suid')
  os.chmod('/usr/local/bin/tc-suid', 0o4755)
  return ['/usr/local/bin/tc-suid']

def present():
  for top in ('/usr', '/bin', '/sbin', '/opt', '/workspace', '/tmp', '/var'):
    for directory, _, names in os.walk(top):
      for path in (os.path.join(directory, name) for name in names):
        try: status = os.lstat(path)
        except OSError: continue
        if status.st_mode & 0o170000 == 0o100000 and status.st_mode & 0o6000 and status.st_uid == 0: yield path

if os.geteuid() == 0:
  path = planted()[0]
  shown = subprocess.run([path, '-c', SHOW], user=12345, capture_output=True, text=True).stdout.strip()
  os.unlink(path)
  found(shown == '0', 'a planted one ran as uid ' + shown)
files = list(present())
found(len(files) > 0, 'setuid of root: %s' % (', '.join(files[:5]) or 'none'))
`,
      18000,
    ),
};
