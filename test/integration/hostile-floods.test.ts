/** More than anybody needs: files, names, events, bad requests. The turn ends or waits; the host and the others don't. */
import { lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { answerTo, type Ground, NOTHING_REFUSED, prepareGround } from './hostile.ts';

let ground: Ground;
beforeAll(async () => {
  ground = await prepareGround();
});
afterAll(() => ground?.close());

const quarantined = (): { name: string; bytes: number }[] => {
  const { quarantine } = ground.installation.home;
  return readdirSync(quarantine).map((name) => ({ name, bytes: lstatSync(join(quarantine, name)).size }));
};

describe('1,001 entries', () => {
  it.each([
    ['lobby', 'messages', 'files', 'open("f%d.json" % i, "w").close()'],
    ['lobby', 'messages', 'hidden files', 'open(".f%d" % i, "w").close()'],
    ['lobby', 'messages', 'directories', 'os.mkdir("d%d" % i)'],
    ['lobby', 'messages', 'links', 'os.symlink("/etc/passwd", "l%d" % i)'],
    ['friends', 'tasks', 'files', 'open("f%d.json" % i, "w").close()'],
    ['main', 'messages', 'files', 'open("f%d.json" % i, "w").close()'],
  ])('end a turn in %s (%s/, %s) for disk use, at once, and are swept away', async (folder, box, _, make) => {
    const flood = `cd /workspace/ipc/${box} && python3 -c '
import os
for i in range(1200): ${make}' && sleep 30; echo survived`;
    const { done, reply } = await ground.probe(folder, flood, [
      { kind: 'ipc-flood', told: { ended: 'it wrote more than a turn may write' } },
    ]);
    expect(done.reason).toBe('disk');
    expect(done.detail).toContain(`more than 1000 files in ${box}/`);
    expect(reply).not.toContain('survived');
    await expect.poll(() => readdirSync(ground.installation.home.trash), { timeout: 30_000 }).toEqual([]);
  });
});

describe('a flood', () => {
  it('of changes as fast as a container can make them lets a request through', async () => {
    const command = `cd /workspace/ipc/messages && python3 -c '
import os, time
end = time.time() + 3
n = 0
while time.time() < end:
  n += 1
  open(".a", "w").close(); os.rename(".a", ".b"); os.chmod(".b", 0o600); os.unlink(".b")
  if n == 100:
    open(".t", "w").write("{\\"type\\":\\"message\\",\\"id\\":\\"m1\\",\\"text\\":\\"through the flood\\"}"); os.rename(".t", "m1.json")
print("changes", n * 4)'; ${answerTo('m1')}`;
    const { reply, messages } = await ground.probe('lobby', command, NOTHING_REFUSED);
    expect(reply).toContain('"ok":true');
    expect(messages).toContain('through the flood');
  });

  it('of bad requests leaves bounded traces, under names that nothing overwrites', async () => {
    const command = `cd /workspace/ipc/messages && python3 -c '
import os
for i in range(150):
  open(".t", "w").write("x" * 100000); os.rename(".t", "b%03d.json" % i)
for i in range(150): os.symlink("/etc/passwd", "l%03d.json" % i)'; ${answerTo('b000')}; sleep 8`;
    const before = quarantined().map(({ name }) => name);
    const turn = await ground.probe('lobby', command, [
      { kind: 'ipc-not-json', told: /"ok\\":false.*one JSON object/ },
    ]);
    const { done } = turn;
    expect(done.reason).toBe('completed');
    // What is left when the container is gone is looked at last, and only so much of it; nobody is there to be told.
    const kinds = async () => (await ground.recorded(turn)).map(({ kind }) => kind);
    await expect.poll(kinds, { timeout: 30_000 }).toContain('ipc-left-over');
    const kept = quarantined();
    const ofTurn = kept.filter(({ name }) => name.startsWith(done.invocation));
    expect(ofTurn.length).toBeGreaterThan(0);
    expect(ofTurn.length).toBeLessThanOrEqual(100);
    expect(kept.map(({ name }) => name)).toEqual(expect.arrayContaining(before));
    for (const { bytes } of kept) expect(bytes).toBeLessThanOrEqual(64 * 1024);
  });

  it('of good requests is taken in at a bounded pace, each once', async () => {
    const command = `cd /workspace/ipc/messages && python3 -c '
import os
for i in range(60):
  open(".t", "w").write("{\\"type\\":\\"message\\",\\"id\\":\\"g%03d\\",\\"text\\":\\"number %03d\\"}" % (i, i)); os.rename(".t", "g%03d.json" % i)'; ${answerTo('g059')}`;
    const { messages } = await ground.probe('lobby', command, NOTHING_REFUSED);
    expect(messages.slice(0, 60).sort()).toEqual(
      Array.from({ length: 60 }, (_, n) => `number ${String(n).padStart(3, '0')}`),
    );
  });
});
