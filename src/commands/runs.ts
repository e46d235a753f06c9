/** `tierclaw runs list|show`: what turns have been, from the state database; no supervisor is needed. */
import { InvocationId } from '../domain/ids.ts';
import { AppError } from '../errors.ts';
import type { Stores } from '../store/stores.ts';
import type { CommandContext, CommandResult } from './context.ts';
import { groupIdOf, withStores } from './groups-find.ts';
import { type Run, renderRun, renderRuns } from './runs-table.ts';
import { terminalLine } from './terminal.ts';

export interface RunsOptions {
  /** Name, folder or id of a group. */
  readonly group?: string;
  readonly limit: number;
}

/** Newest first. */
export const listRuns = ({ home }: CommandContext, { group, limit }: RunsOptions): Promise<CommandResult> =>
  withStores(home, (stores) => {
    const id = group === undefined ? undefined : groupIdOf(stores, group);
    const records = stores.invocations.list({ limit, group: id });
    return { text: renderRuns(records, Date.now()), data: records };
  });

export const noRun = (asked: string): AppError =>
  new AppError({
    code: 'not-found',
    message: `there is no run "${terminalLine(asked)}"; a run’s id is 26 letters and digits`,
    hint: 'tierclaw runs list',
  });

const findRun = (stores: Stores, asked: string): Run => {
  const id = InvocationId.safeParse(asked.toUpperCase());
  const record = id.success ? stores.invocations.get(id.data) : null;
  if (record === null) throw noRun(asked);
  return { record, model: stores.receipts.useOf(record.id), receipts: stores.receipts.of(record.id) };
};

export const showRun = ({ home }: CommandContext, asked: string): Promise<CommandResult> =>
  withStores(home, (stores) => {
    const run = findRun(stores, asked);
    const { record, model, receipts } = run;
    return { text: renderRun(run, Date.now()), data: { ...record, model, receipts } };
  });
