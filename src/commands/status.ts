/** `tierclaw status`: what the supervisor of this home is doing. Without one: AppError `not-running`. */
import type { StatusReport } from '../ops/control-protocol.ts';
import { controlClient } from './client.ts';
import type { CommandContext, CommandResult } from './context.ts';
import { formatDuration, renderTable } from './table.ts';
import { terminalLine } from './terminal.ts';

const headRows = (report: StatusReport, nowMs: number): string[][] => {
  const { engine } = report;
  const uptime = formatDuration(Math.max(0, nowMs - Date.parse(report.startedAt)));
  return [
    ['supervisor', `running, pid ${report.pid}, version ${report.version}, for ${uptime}`],
    ['home', report.home],
    ['engine', engine === null ? 'not reachable' : `${engine.name} ${engine.version} (API ${engine.apiVersion})`],
    ['image', report.image],
    ...(report.auditTrouble === undefined
      ? []
      : [['audit', `NO TURN STARTS: ${terminalLine(report.auditTrouble, 500)}`]]),
    ['provider', report.provider],
    ...(report.lowDisks ?? []).map((low) => ['disk', `nearly full, no turn starts: ${terminalLine(low)}`]),
    ['turns', `${report.running.length} of at most ${report.concurrent} running, ${report.waiting.length} waiting`],
  ];
};

const runningTable = ({ running }: StatusReport): string[] => {
  if (running.length === 0) return [];
  const rows = running.map(({ invocation, group, tier, state, ageMs }) => [
    invocation,
    group,
    tier,
    state,
    formatDuration(ageMs),
  ]);
  return [`Running\n${renderTable([['invocation', 'group', 'tier', 'state', 'age'], ...rows], 2)}`];
};

const waitingTable = ({ waiting }: StatusReport): string[] => {
  if (waiting.length === 0) return [];
  const rows = waiting.map(({ group, session, messages }) => [group, session, String(messages)]);
  return [`Waiting\n${renderTable([['group', 'session', 'messages'], ...rows], 2)}`];
};

export const renderStatus = (report: StatusReport, nowMs: number): string =>
  [renderTable(headRows(report, nowMs)), ...runningTable(report), ...waitingTable(report)].join('\n\n');

export const status = async ({ home }: CommandContext): Promise<CommandResult> => {
  const report = await controlClient(home).status();
  return { text: renderStatus(report, Date.now()), data: report };
};
