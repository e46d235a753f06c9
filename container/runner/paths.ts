/** Where the runner finds things. A value that is handed on, never a constant of a module, so that tests use their own. */
import { CONTAINER } from '../../src/protocol.ts';

export interface RunnerPaths {
  /** Working directory of commands; relative paths of file tools start here. */
  readonly group: string;
  /** Holds `messages/` (written here) and `input/` (read only). */
  readonly ipc: string;
  /** Appears some time after the start; the first tool call waits for it. */
  readonly database: string;
  /** HOME of commands; made by the runner, since the uid has no passwd entry. */
  readonly home: string;
  readonly socket: string;
  /** The program behind `web_fetch`. */
  readonly webFetch: string;
  /** The loopback port that leads to `socket`; 0 lets the kernel choose. */
  readonly relayPort: number;
}

export const CONTAINER_PATHS: RunnerPaths = {
  group: CONTAINER.group,
  ipc: CONTAINER.ipc,
  database: CONTAINER.database,
  home: CONTAINER.home,
  socket: CONTAINER.socket,
  webFetch: '/opt/tierclaw/web-fetch.mjs',
  relayPort: CONTAINER.relayPort,
};
