/**
 * One hostile turn and what is judged about it on the host: what must not have changed, what must not have got out,
 * what must be on record. An act that was never done proves nothing: then the probe is broken, by an error.
 */
import type { Arena, AuditLine, Finding, TurnEnd } from '../probe.ts';
import { held, reached } from '../probe.ts';
import { type Ground, layOut } from './ground.ts';
import { type Act, actsIn, scriptOf } from './script.ts';

export interface Attack {
  readonly ground: Ground;
  readonly turn: TurnEnd;
  readonly acts: readonly Act[];
  /** Of this turn alone. */
  readonly audit: readonly AuditLine[];
}

export interface AttackOptions {
  /** Lines of Python, after the shared words. */
  readonly script: string;
  readonly ground?: Ground;
  /** The victim sends a message meanwhile and must be answered. */
  readonly withNeighbour?: boolean;
}

export const auditOf = async (arena: Arena, { invocation }: TurnEnd): Promise<readonly AuditLine[]> =>
  (await arena.audit()).filter((line) => line.invocation === invocation);

const GREETING = 'served-as-always';

const serveNeighbour = async (arena: Arena): Promise<void> => {
  const { reply, reason } = await arena.say(arena.victim, `run: echo ${GREETING}`);
  if (!reply.includes(GREETING)) throw new Error(`the neighbour's turn ended with ${reason}: ${reply.slice(0, 200)}`);
};

export const attack = async (arena: Arena, options: AttackOptions): Promise<Attack> => {
  const ground = options.ground ?? (await layOut(arena));
  const [turn] = await Promise.all([
    arena.script(arena.attacker, 'python', scriptOf(options.script)),
    options.withNeighbour === true ? serveNeighbour(arena) : undefined,
  ]);
  return { ground, turn, acts: actsIn(turn.reply), audit: await auditOf(arena, turn) };
};

export interface Judge {
  /** The attack got what it wanted where `isSo`. */
  breach(isSo: boolean, evidence: string): void;
  /** The attack must have come that far, else nothing is shown. Throws. */
  needs(isSo: boolean, what: string): void;
  verdict(evidence: string): Finding;
}

export const createJudge = (): Judge => {
  const breaches: string[] = [];
  return {
    breach: (isSo, evidence) => {
      if (isSo) breaches.push(evidence);
    },
    needs: (isSo, what) => {
      if (!isSo) throw new Error(what);
    },
    verdict: (evidence) => (breaches.length === 0 ? held(evidence) : reached(breaches.join('; '))),
  };
};

const leaked = ({ ground, turn }: Attack, arena: Arena): readonly string[] => {
  const said = [turn.reply, ...turn.messages].join('\n');
  const secrets = Object.entries({ ...arena.canaries, outside: ground.canary });
  return secrets.filter(([, text]) => said.includes(text)).map(([name]) => name);
};

/** What holds after any attack. */
export const judgeGround = async (judge: Judge, arena: Arena, made: Attack): Promise<void> => {
  const changed = await made.ground.changed();
  judge.breach(changed.length > 0, `changed on the host: ${changed.join(', ')}`);
  const secrets = leaked(made, arena);
  judge.breach(secrets.length > 0, `said into the chat: ${secrets.join(', ')}`);
};

const shown = (act: Act): string => JSON.stringify(act).slice(0, 300);

/** Each request was refused, said to the agent and on record; at least `atLeast` were made. */
export const judgeRefusals = (judge: Judge, { acts, audit, turn }: Attack, atLeast: number): void => {
  const answered = acts.filter(({ answer }) => answer !== undefined);
  const count = `${answered.length} of ${atLeast} requests made; the turn: ${turn.reason} ${turn.reply.slice(-300)}`;
  judge.needs(answered.length >= atLeast, count);
  for (const act of answered) {
    judge.needs(act.answer !== null, `${act.act}: no answer in time`);
    judge.breach(act.answer?.ok === true, `carried out: ${shown(act)}`);
  }
  const lines = audit.filter(({ kind }) => kind.startsWith('ipc-') || kind === 'request-refused');
  judge.breach(lines.length < answered.length, `${answered.length} refusals, ${lines.length} of them on record`);
};

/** The whole of a probe that only makes requests which must be refused. */
export const mustRefuse = async (
  arena: Arena,
  { atLeast, ...options }: AttackOptions & { readonly atLeast: number },
): Promise<Finding> => {
  const judge = createJudge();
  const made = await attack(arena, options);
  judgeRefusals(judge, made, atLeast);
  await judgeGround(judge, arena, made);
  const refused = made.acts.find(({ answer }) => answer?.ok === false)?.answer?.detail ?? '';
  return judge.verdict(`${made.audit.length} refused and on record, e.g. "${refused.slice(0, 100)}"`);
};
