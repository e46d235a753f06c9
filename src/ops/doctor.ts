/**
 * The doctor: a list of checks over one examination of the home, its machine and its engine. Invariant: a check that
 * breaks or hangs is a failed check; the others run all the same, also where the configuration can't be read.
 */
import type { Config } from '../config.ts';
import type { InvocationPlan } from '../domain/plan.ts';
import { type AppError, isErrno, toAppError } from '../errors.ts';
import type { Home } from '../home.ts';
import type { EngineReport } from '../runtimes/runtime.ts';
import type { Secrets } from '../secrets.ts';

export interface Finding {
  readonly status: 'ok' | 'warn' | 'fail';
  readonly found: string;
  /** How to mend it; null where there is nothing to mend. */
  readonly hint: string | null;
}

/** What was learnt, or why it could not be. */
export type Known<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly error: AppError };

export interface ExaminedImage {
  /** What this home's turns use. */
  readonly tag: string;
  /** ISO 8601, null within: the engine doesn't say; null: the engine has no such image. */
  readonly found: { readonly createdAt: string | null } | null;
  /** What `tierclaw image build` would make now, and on what; an error where it could not build. */
  readonly current: Known<{ readonly tag: string; readonly base: string; readonly baseCreatedAt: string | null }>;
}

/** What a running supervisor says of itself. */
export interface SupervisorSeen {
  readonly pid: number;
  readonly version: string;
  /** Why no turn can be put on record. */
  readonly auditTrouble?: string | undefined;
}

/** Everything that more than one check needs, or that only other parts of the program can tell. */
export interface Examined {
  readonly home: Home;
  readonly config: Known<Config>;
  readonly secrets: Known<Secrets>;
  /** Sources that can't be read, but for the home's own file. */
  readonly secretProblems: readonly AppError[];
  readonly ownUid: number;
  readonly containerUid: number;
  /** Where the engine is looked for. */
  readonly engineSocket: Known<string>;
  readonly engine: Known<EngineReport>;
  readonly image: Known<ExaminedImage>;
  /** Of this home, running or not. */
  readonly containers: Known<number>;
  /** null: none runs. */
  readonly supervisor: Known<SupervisorSeen | null>;
  readonly version: string;
  /** One for each tier, and the environment that its container would get. */
  readonly plans: readonly { readonly plan: InvocationPlan; readonly env: Readonly<Record<string, string>> }[];
  /** Throws AppError where the tile is missing or damaged. */
  readonly readTile: (tile: string) => Promise<void>;
  readonly preflight: () => Promise<Finding>;
  readonly nowMs: number;
}

export interface Check {
  readonly id: string;
  readonly title: string;
  readonly run: (examined: Examined) => Finding | Promise<Finding>;
}

export interface CheckResult extends Finding {
  readonly id: string;
  readonly title: string;
}

export const good = (found: string): Finding => ({ status: 'ok', found, hint: null });
export const warning = (found: string, hint: string): Finding => ({ status: 'warn', found, hint });
export const failure = (found: string, hint: string): Finding => ({ status: 'fail', found, hint });

const REPORT = 'if you don’t know why, report it with what this says: tierclaw doctor --json';

export const failureOf = ({ message, hint, cause }: AppError): Finding => {
  const isForeign = isErrno(cause, 'EACCES') || isErrno(cause, 'EPERM');
  return failure(message, hint ?? (isForeign ? 'run this as the user who runs the supervisor' : REPORT));
};

/** Judges what is known; what isn't is another check's failure, and only named here. */
export const ifKnown = <T>(known: Known<T>, judge: (value: T) => Finding | Promise<Finding>) =>
  known.ok ? judge(known.value) : warning('not known', `first mend: ${known.error.message.split('\n')[0]}`);

/** Longer than any deadline that a check has of its own, the provider's 30 s among them. */
const CHECK_WITHIN_MS = 45_000;

const runOne = async ({ id, title, run }: Check, examined: Examined): Promise<CheckResult> => {
  const deadline: { timer?: NodeJS.Timeout } = {};
  const late = new Promise<Finding>((resolve) => {
    const finding = failure(`no answer within ${CHECK_WITHIN_MS / 1000} s`, 'look at the load of this machine');
    deadline.timer = setTimeout(resolve, CHECK_WITHIN_MS, finding);
  });
  const found = async (): Promise<Finding> => run(examined);
  const finding = await Promise.race([found().catch((thrown: unknown) => failureOf(toAppError(thrown))), late]);
  clearTimeout(deadline.timer);
  return { id, title, ...finding };
};

/** All results, in the order of the checks. Never rejects. */
export const runChecks = (checks: readonly Check[], examined: Examined): Promise<CheckResult[]> =>
  Promise.all(checks.map((check) => runOne(check, examined)));
