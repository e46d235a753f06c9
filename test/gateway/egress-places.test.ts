import { describe, expect, it } from 'vitest';
import { tierRow } from '../../src/domain/tiers.ts';
import { createEgressPlaces } from '../../src/gateway/egress-places.ts';

const EGRESS = { ...tierRow('untrusted').egress, connections: 2, connectionsPerMinute: 40 };

describe('places for connections', () => {
  it('are given again as time passes, never more than a burst', () => {
    const clock = { ms: 0 };
    const places = createEgressPlaces(() => clock.ms);
    const takeAll = (): number => {
      for (let count = 0; ; count += 1) {
        const place = places.take('a', EGRESS);
        if (!place.allow) return count;
        place.leave();
      }
    };
    expect(takeAll()).toBe(10);
    clock.ms += 3_000;
    expect(takeAll()).toBe(2);
    clock.ms += 3_600_000;
    expect(takeAll()).toBe(10);
    expect(places.take('a', EGRESS)).toMatchObject({ status: 429, retryAfterSeconds: 2 });
    expect(places.take('b', EGRESS)).toMatchObject({ allow: true });
  });

  it('are left once, whoever says so how often', () => {
    const places = createEgressPlaces(() => 0);
    const first = places.take('a', EGRESS);
    const second = places.take('a', EGRESS);
    if (first.allow) for (let count = 0; count < 3; count += 1) first.leave();
    expect(second.allow && places.take('a', EGRESS).allow).toBe(true);
    expect(places.take('a', EGRESS)).toMatchObject({ allow: false, status: 429 });
  });
});
