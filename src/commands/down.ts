/** `tierclaw down`: ends the supervisor in good order and returns when its process is gone. */
import { setTimeout as sleep } from 'node:timers/promises';
import { AppError } from '../errors.ts';
import { controlClient, isRunning } from './client.ts';
import type { CommandContext, CommandResult } from './context.ts';
import { isAlive } from './processes.ts';

/** Turns under way get their time to stop and to be verified gone. */
const GONE_WITHIN_MS = 60_000;
const POLL_MS = 100;

const waitUntilGone = async (pid: number): Promise<void> => {
  const deadline = Date.now() + GONE_WITHIN_MS;
  while (await isAlive(pid)) {
    if (Date.now() > deadline) {
      const message = `the supervisor (pid ${pid}) is still there after ${GONE_WITHIN_MS / 1000} s`;
      throw new AppError({ code: 'timeout', message, hint: 'see what it waits for: tierclaw logs --lines 20' });
    }
    await sleep(POLL_MS);
  }
};

export const down = async ({ home }: CommandContext): Promise<CommandResult> => {
  const client = controlClient(home);
  if (!(await isRunning(client))) {
    return { text: `no supervisor is running for the home ${home.dir}`, data: { stopped: false, pid: null } };
  }
  const { pid } = await client.status();
  await client.shutdown();
  await waitUntilGone(pid);
  return { text: `supervisor stopped (pid ${pid})`, data: { stopped: true, pid } };
};
