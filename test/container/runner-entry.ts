/** The runner as main.ts wires it, but with its paths in the directory given as the first argument and any free port. */
import { join } from 'node:path';
import process from 'node:process';
import { aiSdkAgent } from '../../container/runner/agents/ai-sdk.ts';
import { takeStdout } from '../../container/runner/frames-out.ts';
import { Runner } from '../../container/runner/runner.ts';

const root = process.argv[2] ?? '/nowhere';
const runner = new Runner({
  stdin: process.stdin,
  stdout: takeStdout(process),
  paths: {
    group: join(root, 'group'),
    ipc: join(root, 'ipc'),
    database: join(root, 'messages.db'),
    home: join(root, 'home'),
    socket: join(root, 'gateway.sock'),
    webFetch: join(root, 'web-fetch.mjs'),
    relayPort: 0,
  },
  environment: { PATH: process.env.PATH },
  agent: aiSdkAgent(),
  exit: (status) => process.exit(status),
  log: (line) => void process.stderr.write(`${line}\n`),
});
process.on('uncaughtException', (thrown) => runner.fail(thrown));
process.on('unhandledRejection', (thrown) => runner.fail(thrown));
// What a library prints must not end up between frames.
// biome-ignore lint/suspicious/noConsole: it plays that library
console.log('printed by a library');
process.stdout.write('written by a library\n');
runner.start();
