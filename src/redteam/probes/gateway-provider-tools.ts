/** Tools that the provider runs reach the internet past our proxy. */
import { EVERY_TIER } from '../../domain/tiers.ts';
import { modelRequest, postTo, statusOf } from '../model-request.ts';
import { held, type InsideProbe, type Kit, noControl, type Outcome, reached } from '../probe.ts';

export const gatewayProviderTools: InsideProbe = {
  kind: 'inside',
  id: 'gateway-provider-tools',
  topic: 'gateway',
  tries: 'to have the provider fetch, search or run code',
  why: 'such tools, and connectors to other servers, are refused in the body',
  expected: { runc: EVERY_TIER },
  control: noControl('the rehearsal model behind it refuses fields that it doesn’t know, for a careless proxy as well'),
  attempt: async (kit: Kit): Promise<Outcome> => {
    const more = [
      '"tools":[{"type":"web_search_20250305","name":"web_search"}]',
      '"tools":[{"type":"web_fetch_20250910","name":"web_fetch"}]',
      '"tools":[{"type":"code_execution_20250825","name":"code_execution"}]',
      '"mcp_servers":[{"type":"url","url":"https://example.org","name":"x"}]',
      '"container":"x"',
      '"service_tier":"priority"',
    ];
    for (const field of more) {
      const answer = await kit.exchange(
        postTo({ target: '/model/witness/v1/messages', body: modelRequest().replace('{', `{${field},`) }),
      );
      if (statusOf(answer) === 200) return reached(`answered, with ${field.slice(0, 40)}`);
    }
    return held(`${more.length} refused`);
  },
};
