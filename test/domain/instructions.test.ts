import { describe, expect, it } from 'vitest';
import { composeInstructions } from '../../src/domain/instructions.ts';
import { TIER_NAMES, tierRow } from '../../src/domain/tiers.ts';

const parts = {
  trustWarning: 'BEWARE\n',
  persona: 'I am someone.',
  home: 'Of the home.',
  rules: [
    { tile: 'core', text: 'Be brief.' },
    { tile: 'extra', text: 'Be kind.' },
  ],
  group: 'Of the group.',
};

describe('composed instructions', () => {
  it('begin with the trust warning where the persona is public, and nowhere else', () => {
    for (const name of TIER_NAMES) {
      const row = tierRow(name);
      const [first] = composeInstructions(row, parts).split('\n');
      expect(first === 'BEWARE', name).toBe(row.rights.persona === 'public');
    }
  });

  it('hold persona, home, tiles in load order and group, in that order', () => {
    const text = composeInstructions(tierRow('main'), parts);
    const order = ['I am someone.', 'Of the home.', 'Be brief.', 'Be kind.', 'Of the group.'].map((part) =>
      text.indexOf(part),
    );
    expect(order).toEqual([...order].sort((a, b) => a - b));
    expect(order).not.toContain(-1);
  });

  it('leave the home’s own instructions out where the persona is public', () => {
    expect(composeInstructions(tierRow('untrusted'), parts)).not.toContain('Of the home.');
  });

  it('leave out what is empty or missing, heading and all', () => {
    const text = composeInstructions(tierRow('trusted'), { ...parts, home: '  \n', group: null });
    expect(text).not.toContain('Instructions of');
  });
});
