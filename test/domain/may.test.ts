/** What a container may ask for follows from its tier's row and from where the request lay. */
import { describe, expect, it } from 'vitest';
import { GroupId } from '../../src/domain/ids.ts';
import { may } from '../../src/domain/may.ts';
import { TIER_NAMES, type TierName, tierRow } from '../../src/domain/tiers.ts';

const OWN = GroupId.parse('local:own');
const OTHER = GroupId.parse('local:other');
const REGISTERED = [OWN, OTHER];
const actor = (tier: TierName) => ({ group: OWN, rights: tierRow(tier).rights });

const reasonOf = (tier: TierName, type: string, chat?: string): string => {
  const decision = may(actor(tier), { type, chat }, REGISTERED);
  return decision.allow ? 'allowed' : decision.reason;
};

describe('may', () => {
  it.each(TIER_NAMES)('lets %s write to its own chat, named or not', (tier) => {
    expect(reasonOf(tier, 'message')).toBe('allowed');
    expect(reasonOf(tier, 'message', OWN)).toBe('allowed');
  });

  it('lets main alone address another registered chat', () => {
    expect(reasonOf('main', 'message', OTHER)).toBe('allowed');
    expect(reasonOf('trusted', 'message', OTHER)).toMatch(/only itself/);
    expect(reasonOf('untrusted', 'message', OTHER)).toMatch(/only itself/);
  });

  it('tells no tier without the right whether a chat is registered', () => {
    expect(reasonOf('untrusted', 'message', 'local:nowhere')).toBe(reasonOf('untrusted', 'message', OTHER));
  });

  it('refuses a chat that is not registered, also to main', () => {
    expect(reasonOf('main', 'message', 'local:nowhere')).toMatch(/"local:nowhere" is not a registered chat/);
  });

  it.each([
    ['schedule_task', /may not schedule tasks/],
    ['pause_task', /may not schedule tasks/],
    ['cancel_task', /may not schedule tasks/],
    ['register_group', /may not manage groups/],
    ['promote_staging', /may not promote/],
    ['github_backup', /may not run scripts/],
  ])('refuses %s to untrusted as a right that it lacks', (type, reason) => {
    expect(reasonOf('untrusted', type)).toMatch(reason);
  });

  it.each(['schedule_task', 'list_tasks', 'pause_task', 'resume_task', 'cancel_task', 'update_task', 'register_group'])(
    'says to main that %s is not built yet',
    (type) => {
      expect(reasonOf('main', type)).toBe(`"${type}" isn't available yet in this version`);
    },
  );

  it('keeps managing groups from trusted, which may schedule', () => {
    expect(reasonOf('trusted', 'schedule_task')).toMatch(/available yet/);
    expect(reasonOf('trusted', 'refresh_groups')).toMatch(/may not manage groups/);
  });

  it.each(['constructor', '__proto__', 'MESSAGE', '', 'rm -rf'])('does not know the kind %j', (type) => {
    expect(reasonOf('main', type)).toBe(`unknown request kind ${JSON.stringify(type)}`);
  });
});
