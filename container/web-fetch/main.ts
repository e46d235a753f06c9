/**
 * The program behind the tool `web_fetch`: one address, its text to stdout. A process of its own, so that what a
 * hostile page does to a parser ends with it, and so that no start of a turn waits for the parser. Arguments: address,
 * first character, bytes of output, the proxy's port, milliseconds. Exit status: 0, or 1 with the reason on stdout.
 */
import process from 'node:process';
import { fetchText } from './fetch.ts';

const [url = '', start, bytesMax, proxyPort, timeoutMs] = process.argv.slice(2);

const say = (text: string, status: number): void => {
  process.exitCode = status;
  // A connection that hangs on must not keep the process: what counts has been written.
  process.stdout.write(text, () => process.exit());
};

fetchText({
  url,
  start: Number(start),
  bytesMax: Number(bytesMax),
  proxyPort: Number(proxyPort),
  timeoutMs: Number(timeoutMs),
}).then(
  (text) => say(text, 0),
  (thrown) => say(thrown instanceof Error ? thrown.message : String(thrown), 1),
);
