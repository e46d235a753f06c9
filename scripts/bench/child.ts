/** The other side of a bench in a process of its own: this program again, spoken to over Node's channel. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import process from 'node:process';
import type { z } from 'zod';

export interface Child {
  /** Sends a question and waits for the next answer; one at a time. Throws where the process ends instead. */
  ask<T>(question: string | object, answer: z.ZodType<T>): Promise<T>;
  /** Ends the process. Idempotent. */
  close(): Promise<void>;
}

const nextAnswer = (child: ChildProcess, role: string): Promise<unknown> =>
  new Promise((resolve, reject) => {
    const onExit = (status: number | null): void => reject(new Error(`${role} ended with status ${status}`));
    child.once('exit', onExit);
    child.once('message', (answer) => {
      child.off('exit', onExit);
      resolve(answer);
    });
  });

const end = async (child: ChildProcess): Promise<void> => {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;
};

/** Starts this program in that role; resolves when it has answered for the first time. */
export const startChild = async <T>(
  [role, ...args]: readonly [string, ...string[]],
  answer: z.ZodType<T>,
): Promise<Child & { readonly ready: T }> => {
  const child = fork(process.argv[1] ?? '', [role, ...args], { execArgv: ['--enable-source-maps', '--expose-gc'] });
  const first = await nextAnswer(child, role);
  return {
    ready: answer.parse(first),
    ask: async (question, schema) => {
      const pending = nextAnswer(child, role);
      child.send(question);
      return schema.parse(await pending);
    },
    close: () => end(child),
  };
};

/** In the child: what has been measured or made. */
export const tellParent = (answer: object): void => void process.send?.(answer);

/** In the child: calls back for every question; the process ends with its parent. */
export const onQuestion = (answer: (question: unknown) => void): void => {
  process.on('message', answer);
  process.once('disconnect', () => process.exit(0));
};
