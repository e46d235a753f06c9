/** Output that never becomes a frame. */
import { EVERY_TIER } from '../../domain/tiers.ts';
import { attack, createJudge, judgeGround } from '../host/attack.ts';
import { BYTES_MAX, peakBytes } from '../host/memory.ts';
import { inChild, naive } from '../host/naive.ts';
import { type HostProbe, held, reached } from '../probe.ts';

/** It gathers what comes until a line is whole. */
const GATHER = `
let line = [];
for (let n = 0; n < 100; n += 1) line.push(Buffer.alloc(1048576, 120));
console.log(process.memoryUsage().arrayBuffers);`;

export const hostFrameLine: HostProbe = {
  kind: 'host',
  id: 'host-frame-line',
  topic: 'messages',
  tries: 'to fill the host’s memory with a line that never ends, after frames of garbage',
  why: 'bytes that are no frame are noise, and a line of more than 1 MiB ends the turn (output)',
  expected: { runc: EVERY_TIER },
  control: naive(async () => {
    const { stdout } = await inChild(GATHER, [], 20_000);
    return Number(stdout) > BYTES_MAX
      ? reached(`a reader that waits for the line’s end held ${stdout} bytes`)
      : held('');
  }),
  attempt: async (arena) => {
    const judge = createJudge();
    const script = `
out = stream_of_runner(1)
os.write(out, os.urandom(200000) + b"\\n" + b"\\x00" * 50000 + b"\\n" + b"[" * 500000 + b"\\n" + b'{"a":' * 100000 + b"\\n" + b"{" + b'"type":"result",' * 30000 + b"}\\n")
request("after-garbage", type="message", text="still alive")
print(answer("after-garbage"))
for _ in range(100): os.write(out, b"x" * 1048576)
time.sleep(60)`;
    const { result: made, bytes } = await peakBytes(() => attack(arena, { script }));
    judge.breach(
      made.turn.reason !== 'output',
      `the turn ended with ${made.turn.reason} ${made.turn.reply.slice(-200)}`,
    );
    judge.breach(!made.turn.messages.includes('still alive'), 'the garbage alone silenced the turn');
    judge.breach(bytes > BYTES_MAX, `the host held ${bytes} bytes more`);
    await judgeGround(judge, arena, made);
    return judge.verdict(`${made.turn.detail}; at most ${bytes} bytes more in the host`);
  },
};
