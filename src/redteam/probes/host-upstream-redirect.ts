/** A provider that sends the host elsewhere. */
import { EVERY_TIER } from '../../domain/tiers.ts';
import { createJudge } from '../host/attack.ts';
import { hostilePrompt, REDIRECTED } from '../hostile-upstream.ts';
import { type HostProbe, noControl } from '../probe.ts';

export const hostUpstreamRedirect: HostProbe = {
  kind: 'host',
  id: 'host-upstream-redirect',
  topic: 'gateway',
  tries:
    'to have the host carry its key to another place by a redirect from the provider, or unpack an answer that nobody asked to be packed',
  why: 'the gateway follows no redirect and takes no encoding that it didn’t ask for: either is an error to the container',
  expected: { runc: EVERY_TIER },
  control: noControl('every HTTP client that follows redirects by default does; curl -L shows it'),
  attempt: async (arena) => {
    const judge = createJudge();
    const { folder } = arena.attacker;
    const redirected = await arena.say(arena.attacker, hostilePrompt('redirect', folder));
    const packed = await arena.say(arena.attacker, hostilePrompt('compressed', folder));
    const requests = arena.upstreamRequests();
    judge.needs(
      requests.some(({ url }) => url.startsWith('/v1/messages')),
      'the provider was never asked',
    );
    judge.breach(
      requests.some(({ url }) => url === `${REDIRECTED}${folder}`),
      'the redirect was followed',
    );
    for (const { reason } of [redirected, packed]) judge.breach(reason !== 'failed', `the turn ended with ${reason}`);
    return judge.verdict(`not followed: ${redirected.detail}; ${packed.detail}`);
  },
};
