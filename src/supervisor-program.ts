/**
 * The program of a detached supervisor (`dist/supervisor.mjs <home>`): the daemon without the command line around it,
 * so that nothing is loaded for its whole life that a command alone needs.
 */
import { runDaemon } from './daemon.ts';
import { EXIT_STATUS, toAppError } from './errors.ts';

const main = async ([homeDir = '']: readonly string[]): Promise<number> => {
  try {
    return await runDaemon({ homeDir });
  } catch (thrown) {
    const { code, message, hint, stack } = toAppError(thrown);
    // The log's file, from which `tierclaw up` tells the last lines.
    process.stderr.write(`error: ${message}\n${hint === undefined ? '' : `hint: ${hint}\n`}`);
    if (code === 'internal') process.stderr.write(`${stack ?? ''}\n`);
    return EXIT_STATUS[code];
  }
};

process.exitCode = await main(process.argv.slice(2));
