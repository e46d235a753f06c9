/** `tierclaw gc`: clears away what has been kept long enough, whether or not a supervisor runs. */
import { realpathSync } from 'node:fs';
import { loadConfig, readEnvironment } from '../config.ts';
import { AppError, EXIT_STATUS } from '../errors.ts';
import { homeAt } from '../home.ts';
import { collectAll, type GcReport, removedCount } from '../ops/gc.ts';
import { collectorsFor } from '../retention.ts';
import { engineSocket } from '../runtimes/engine.ts';
import { pruneRows } from '../store/retention.ts';
import type { CommandContext, CommandResult } from './context.ts';
import { isHomeMade } from './groups-find.ts';
import { putOnRecord } from './on-record.ts';
import { formatBytes, formatCount, renderTable } from './table.ts';
import { terminalLine } from './terminal.ts';

export interface GcOptions {
  readonly dryRun: boolean;
}

const render = ({ kinds, failed, dryRun }: GcReport): string => {
  const rows = kinds.map(({ kind, found, removed, bytes }) => [
    ...[kind, formatCount(found), formatCount(removed), bytes === null ? '–' : formatBytes(bytes)],
  ]);
  const table = renderTable([['what', 'too old', 'removed', dryRun ? 'would free' : 'freed'], ...rows]);
  const troubles = failed.map(({ name, message, hint }) => {
    const line = `${name}: ${terminalLine(message, 500)}`;
    return hint === null ? line : `${line}\n  → ${terminalLine(hint, 500)}`;
  });
  const last = dryRun ? ['nothing was removed; how long things are kept: retention in tierclaw.yaml'] : [];
  return [table, ...troubles, ...last].join('\n\n');
};

/** Exit status `config` where something could not be done. */
export const gc = async ({ home: given }: CommandContext, { dryRun }: GcOptions): Promise<CommandResult> => {
  if (!isHomeMade(given)) {
    const message = `there is no home at ${given.dir} (no ${given.stateDatabase})`;
    throw new AppError({ code: 'not-found', message, hint: 'make one with: tierclaw init' });
  }
  // The supervisor's spelling: images are marked with it.
  const home = homeAt(realpathSync(given.dir));
  const config = await loadConfig(home);
  const { dockerHost } = readEnvironment();
  const socket = engineSocket({ socketPath: config.runtime.docker.socket, dockerHost });
  if (!dryRun) await putOnRecord(home, { kind: 'gc', details: { by: 'command' } });
  const collectors = collectorsFor({ home, config, engineSocket: socket, nowMs: Date.now(), prune: pruneRows });
  const report = await collectAll(collectors, dryRun);
  const status = report.failed.length === 0 ? 0 : EXIT_STATUS.config;
  return { text: render(report), data: { ...report, removed: removedCount(report) }, status };
};
