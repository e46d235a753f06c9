import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Installation, install } from './installation.ts';

const WORLD =
  'run: id; touch /x; ls /workspace; grep Cap /proc/self/status; sqlite3 /workspace/store/messages.db "select count(*), count(distinct chat_id) from messages"';

describe('a message in, a container, a reply out', () => {
  let installation: Installation;

  beforeAll(async () => {
    // One test talks more than a day's budget allows; budgets have tests of their own.
    installation = await install({ config: 'caps: { untrusted: { tokensPerDay: null, requestsPerMinute: 1000 } }\n' });
  });
  afterAll(() => installation?.close());

  it.each(['main', 'friends', 'lobby'])('answers in %s and leaves no container', async (folder) => {
    const { done, reply, messages } = await installation.say(folder, 'run: echo hello from $((6*7))');
    expect(done).toMatchObject({ reason: 'completed', detail: null });
    expect(reply).toContain('hello from 42');
    expect(messages).toEqual([reply]);
    const { queuedMs, stagedMs, startedMs, firstModelRequestMs, totalMs } = done.timings;
    const marks = [queuedMs, stagedMs, startedMs, firstModelRequestMs, totalMs].map(Number);
    expect(marks).toEqual([...marks].sort((a, b) => a - b));
    await expect.poll(() => installation.containers()).toEqual([]);
  });

  it('shows an untrusted chat an unprivileged, read-only, own-chat-only world', async () => {
    const { reply } = await installation.say('lobby', WORLD);
    expect(reply).toContain('uid=10001 gid=10001');
    expect(reply).toContain("touch: cannot touch '/x': Read-only file system");
    expect(reply).toMatch(/^agent$[\s\S]*^global$[\s\S]*^group$[\s\S]*^ipc$[\s\S]*^store$[\s\S]*^tiles$/m);
    expect(reply).not.toMatch(/^trusted$/m);
    expect(reply).toMatch(/CapEff:\t0{16}/);
    expect(reply).toMatch(/^\d+\|1$/m);
  });

  it('goes on answering a chat whose conversation has grown larger than any request may be', async () => {
    for (let turn = 0; turn < 12; turn += 1) {
      const { done } = await installation.say('lobby', 'run: head -c 74000 /dev/urandom | base64 -w0');
      expect(done).toMatchObject({ reason: 'completed' });
    }
  });

  it('shows main the whole store', async () => {
    const { reply } = await installation.say('main', WORLD);
    expect(reply).toMatch(/^trusted$/m);
    expect(reply).toMatch(/^\d+\|3$/m);
  });
});

describe('one long message', () => {
  let installation: Installation;
  beforeAll(async () => {
    installation = await install();
  });
  afterAll(() => installation?.close());

  it('does not use up an untrusted chat’s day: it is answered, and so are those after it', async () => {
    await installation.say('lobby', 'x'.repeat(120_000));
    for (let turn = 0; turn < 5; turn += 1) {
      expect((await installation.say('lobby', 'hi')).done).toMatchObject({ reason: 'completed' });
    }
  });
});
