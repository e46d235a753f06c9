import { describe, expect, it, onTestFinished } from 'vitest';
import type { GroupId } from '../../src/domain/ids.ts';
import type { Amount } from '../../src/domain/prices.ts';
import { type Home, homeAt } from '../../src/home.ts';
import { openDatabase } from '../../src/store/database.ts';
import { type SpendAnswer, type SpendCaps, SpendStore } from '../../src/store/spend.ts';
import { CELLAR, freshDirectory, LOBBY } from './fixture.ts';

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
/** 23:00 on the second of January. */
const START = Date.UTC(2026, 0, 2, 23);
const USD = 1_000_000_000;

/** A wall clock that can be set, and a monotonic one that can't be set back. */
class Hands {
  wall = START;
  monotonic = 5;
  readonly clocks = { wallMs: () => this.wall, monotonicMs: () => this.monotonic };
  pass(ms: number): void {
    this.wall += ms;
    this.monotonic += ms;
  }
}

const openSpend = (home: Home, hands: Hands): SpendStore => {
  const database = openDatabase({
    name: 'state',
    file: home.stateDatabase,
    backups: home.backups,
    clock: hands.clocks.wallMs,
  });
  onTestFinished(() => void database.close());
  return new SpendStore(database, hands.clocks);
};

/** The supervisor ends in order and starts again. */
const restart = (spend: SpendStore, home: Home, hands: Hands): SpendStore => {
  spend.write();
  return openSpend(home, hands);
};

/** What the operator is told, of today alone unless said otherwise. */
const written = (spend: SpendStore, days = 1) => {
  spend.write();
  return spend.days(days);
};

const fresh = () => {
  const home = homeAt(freshDirectory());
  const hands = new Hands();
  return { home, hands, spend: openSpend(home, hands) };
};

const CAPS: SpendCaps = { requestsPerMinute: 3, tokensPerDay: 1000, usdPerDay: 1 };
const OPEN: SpendCaps = { requestsPerMinute: 1000, tokensPerDay: null, usdPerDay: null };

const amount = (inputTokens = 0, outputTokens = 0, usd = 0): Amount => ({
  inputTokens,
  outputTokens,
  nanoUsd: Math.round(usd * USD),
});

interface Ask {
  readonly group?: GroupId;
  readonly caps?: SpendCaps;
  readonly amount?: Amount;
}

const ask = (spend: SpendStore, { group = LOBBY, caps = CAPS, amount: wanted = amount() }: Ask = {}): SpendAnswer =>
  spend.reserve({ group, caps, amount: wanted });

/** `ok`, or the cap and the seconds to wait. */
const said = (answer: SpendAnswer): string => (answer.ok ? 'ok' : `${answer.over} ${answer.waitMs / SECOND}`);

describe('requests of a minute', () => {
  it('are let through up to the cap, and the next one when the oldest is a minute old', () => {
    const { spend, hands } = fresh();
    const heard = [0, 10, 20, 25, 34.999, 0.001, 0].map((seconds, at) => {
      if (at > 0) hands.pass((at < 3 ? 10 : at === 3 ? 5 : seconds) * SECOND);
      return said(ask(spend));
    });
    expect(heard).toEqual([
      'ok',
      'ok',
      'ok',
      'requestsPerMinute 35',
      'requestsPerMinute 0.001',
      'ok',
      'requestsPerMinute 10',
    ]);
  });

  it('that are refused aren’t counted', () => {
    const { spend, hands } = fresh();
    for (let made = 0; made < 3; made += 1) ask(spend);
    for (let refused = 0; refused < 50; refused += 1) expect(said(ask(spend))).toBe('requestsPerMinute 60');
    hands.pass(MINUTE);
    expect(said(ask(spend))).toBe('ok');
  });

  it('of another group don’t count', () => {
    const { spend } = fresh();
    for (let made = 0; made < 4; made += 1) ask(spend);
    expect(said(ask(spend, { group: CELLAR }))).toBe('ok');
  });

  it('count after a restart', () => {
    const { spend, home, hands } = fresh();
    for (let made = 0; made < 3; made += 1) ask(spend);
    hands.pass(20 * SECOND);
    expect(said(ask(restart(spend, home, hands)))).toBe('requestsPerMinute 40');
  });

  it.each([
    ['lower', 2, 'requestsPerMinute 50'],
    ['higher', 4, 'ok'],
  ])('keep to a cap that is %s now', (_, requestsPerMinute, expected) => {
    const { spend, hands } = fresh();
    for (let made = 0; made < 3; made += 1) {
      ask(spend);
      hands.pass(5 * SECOND);
    }
    // Made 15, 10 and 5 seconds ago.
    expect(said(ask(spend, { caps: { ...CAPS, requestsPerMinute } }))).toBe(expected);
  });
});

describe('a day', () => {
  it.each<[string, Amount, Amount, string]>([
    ['tokens, input and output together', amount(600, 300), amount(50, 51), 'tokensPerDay 3600'],
    ['tokens up to the last one', amount(600, 300), amount(50, 50), 'ok'],
    ['money', amount(0, 0, 0.75), amount(0, 0, 0.250000001), 'usdPerDay 3600'],
    ['money up to the last billionth', amount(0, 0, 0.75), amount(0, 0, 0.25), 'ok'],
  ])('has so many %s', (_, first, second, expected) => {
    const { spend } = fresh();
    ask(spend, { amount: first });
    expect(said(ask(spend, { amount: second }))).toBe(expected);
  });

  it('ends at midnight UTC, and then the next one begins', () => {
    const { spend, hands } = fresh();
    ask(spend, { amount: amount(1000) });
    hands.pass(HOUR - 1);
    expect(said(ask(spend, { amount: amount(1) }))).toBe('tokensPerDay 0.001');
    hands.pass(1);
    expect(said(ask(spend, { amount: amount(1) }))).toBe('ok');
    expect(written(spend, 2).map(({ day, inputTokens }) => [day, inputTokens])).toEqual([
      ['2026-01-03', 1],
      ['2026-01-02', 1000],
    ]);
  });

  it('stands in the way longer than a minute, so it is named', () => {
    const { spend } = fresh();
    for (let made = 0; made < 3; made += 1) ask(spend, { amount: amount(300) });
    expect(said(ask(spend, { amount: amount(300) }))).toBe('tokensPerDay 3600');
  });

  it('goes on after a restart, of each group by itself', () => {
    const { spend, home, hands } = fresh();
    ask(spend, { amount: amount(900) });
    const again = restart(spend, home, hands);
    expect(said(ask(again, { amount: amount(101) }))).toBe('tokensPerDay 3600');
    expect(said(ask(again, { group: CELLAR, amount: amount(101) }))).toBe('ok');
  });

  it('without caps has no end', () => {
    const { spend } = fresh();
    expect(said(ask(spend, { caps: OPEN, amount: amount(1e9, 1e9, 1000) }))).toBe('ok');
  });

  it('never gives more than its caps, in whatever order requests are made and settled', () => {
    const { spend } = fresh();
    const caps = { ...CAPS, requestsPerMinute: 1000 };
    const held: { day: string; reserved: Amount }[] = [];
    const heard = new Set<string>();
    for (let at = 0; at < 200; at += 1) {
      const reserved = amount((at * 37) % 90, (at * 53) % 70, ((at * 11) % 9) / 100);
      const answer = ask(spend, { caps, amount: reserved });
      heard.add(answer.ok ? 'ok' : answer.over);
      if (answer.ok) held.push({ day: answer.day, reserved });
      const done = at % 3 === 0 ? held.shift() : undefined;
      const used = (one: Amount) => amount(one.inputTokens >> 1, one.outputTokens >> 2, one.nanoUsd / USD / 2);
      if (done !== undefined) spend.settle({ group: LOBBY, ...done, used: used(done.reserved) });
      const [today] = written(spend);
      expect((today?.inputTokens ?? 0) + (today?.outputTokens ?? 0)).toBeLessThanOrEqual(1000);
      expect(today?.nanoUsd).toBeLessThanOrEqual(USD);
    }
    expect([...heard].sort()).toEqual(['ok', 'tokensPerDay', 'usdPerDay']);
  });
});

describe('a reservation', () => {
  const settled = (used: Amount) => {
    const { spend } = fresh();
    const reserved = amount(100, 800, 0.5);
    const answer = ask(spend, { amount: reserved });
    if (!answer.ok) throw new Error('refused');
    spend.settle({ group: LOBBY, day: answer.day, reserved, used });
    return spend;
  };

  it('gives back what wasn’t used', () => {
    const spend = settled(amount(90, 10, 0.01));
    expect(written(spend)).toEqual([
      { group: LOBBY, day: '2026-01-02', requests: 1, inputTokens: 90, outputTokens: 10, nanoUsd: 0.01 * USD },
    ]);
    expect(said(ask(spend, { amount: amount(100, 800) }))).toBe('ok');
  });

  it('that was too small is made good, beyond the cap', () => {
    const spend = settled(amount(1500, 10, 2));
    expect(said(ask(spend))).toBe('tokensPerDay 3600');
  });

  it('that a crash left open stays counted', () => {
    const { spend, home, hands } = fresh();
    ask(spend, { amount: amount(100, 800) });
    expect(said(ask(restart(spend, home, hands), { amount: amount(101) }))).toBe('tokensPerDay 3600');
  });

  it('is settled on the day on which it was made', () => {
    const { spend, hands } = fresh();
    const reserved = amount(100, 800);
    const answer = ask(spend, { amount: reserved });
    hands.pass(2 * HOUR);
    ask(spend, { amount: amount(7) });
    if (answer.ok) spend.settle({ group: LOBBY, day: answer.day, reserved, used: amount(1, 2) });
    expect(written(spend, 2).map(({ day, inputTokens, outputTokens }) => [day, inputTokens, outputTokens])).toEqual([
      ['2026-01-03', 7, 0],
      ['2026-01-02', 1, 2],
    ]);
    expect(said(ask(spend, { amount: amount(994) }))).toContain('tokensPerDay');
  });
});

describe('a clock that is set back', () => {
  const full = () => {
    const made = fresh();
    for (let at = 0; at < 3; at += 1) ask(made.spend, { amount: amount(333) });
    return made;
  };
  const both = (spend: SpendStore): string[] => [said(ask(spend)), said(ask(spend, { amount: amount(100) }))];

  it.each([
    ['an hour', HOUR],
    ['a day', DAY],
    ['fifty years', 50 * 365 * DAY],
  ])('by %s gives no new budget, and the minute ends when it would have', (_, ms) => {
    const { spend, hands } = full();
    hands.wall -= ms;
    expect(both(spend)).toEqual(['requestsPerMinute 60', 'tokensPerDay 3600']);
    hands.pass(MINUTE);
    expect(both(spend)).toEqual(['ok', 'tokensPerDay 3540']);
    hands.pass(HOUR);
    expect(said(ask(spend, { amount: amount(100) }))).toBe('ok');
  });

  it('gives none after a restart either', () => {
    const { home, hands, spend } = full();
    spend.write();
    hands.wall -= DAY;
    hands.monotonic = 0;
    const again = openSpend(home, hands);
    expect(both(again)).toEqual(['requestsPerMinute 60', 'tokensPerDay 3600']);
    expect(again.today()).toBe('2026-01-02');
    hands.pass(MINUTE);
    expect(both(again)).toEqual(['ok', 'tokensPerDay 3540']);
  });

  it('after it was ahead for a moment doesn’t stop the budgets', () => {
    const { spend, hands } = full();
    hands.wall += 400 * DAY;
    expect(said(ask(spend, { amount: amount(1000) }))).toBe('ok');
    hands.wall -= 400 * DAY;
    expect(said(ask(spend, { amount: amount(1) }))).toBe('tokensPerDay 3600');
    hands.pass(HOUR);
    expect(said(ask(spend, { amount: amount(1) }))).toBe('ok');
  });
});

describe('what is listed', () => {
  it('reaches back as many days as asked for, groups apart, newest first', () => {
    const { spend, hands } = fresh();
    for (let day = 0; day < 3; day += 1) {
      ask(spend, { amount: amount(day + 1) });
      if (day === 1) ask(spend, { group: CELLAR, amount: amount(9) });
      hands.pass(DAY);
    }
    hands.pass(-DAY);
    expect(written(spend, 2).map(({ group, day, inputTokens }) => `${group} ${day} ${inputTokens}`)).toEqual([
      'local:cellar 2026-01-03 9',
      'local:lobby 2026-01-04 3',
      'local:lobby 2026-01-03 2',
    ]);
    expect(written(spend)).toHaveLength(1);
  });
});
