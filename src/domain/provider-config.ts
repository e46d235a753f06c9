/** Model providers as the operator declares them. Pure. A key is named here, never written. */
import { z } from 'zod';

export const SecretName = z
  .string()
  .regex(/^[A-Z][A-Z0-9_]{0,63}$/, 'the name of a secret in .env: A-Z, 0-9 and _')
  .describe('Names a secret in the home’s .env; the value itself never stands in this file.');

/** The one model of the built-in provider. */
export const REHEARSAL_MODEL = 'rehearsal-1';

const Model = z.string().min(1).max(200);

const ProviderCommon = {
  /** Models that may be asked for; the first is the default. */
  models: z.array(Model).min(1).describe('Models that chats may use; the first is the default.'),
};

const isLoopback = (url: string): boolean =>
  /^(localhost|[a-z0-9.-]+\.localhost|127(\.\d+){3}|\[::1\])$/.test(new URL(url).hostname);

export const Provider = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('rehearsal').describe('The built-in stand-in: no account, no network, says what it is.'),
  }),
  z.strictObject({
    kind: z.literal('anthropic'),
    ...ProviderCommon,
    baseUrl: z
      .url({ protocol: /^https?$/ })
      .default('https://api.anthropic.com')
      .describe('Where the API is.'),
    apiKey: SecretName.optional().describe('API-key mode: the secret sent as x-api-key.'),
    oauthToken: SecretName.optional().describe('OAuth mode: the secret sent as a bearer token with its beta header.'),
  }),
  z
    .strictObject({
      kind: z.literal('openai-compatible'),
      ...ProviderCommon,
      baseUrl: z.url({ protocol: /^https?$/ }).describe('The API’s root, e.g. http://127.0.0.1:11434/v1.'),
      apiKey: SecretName.optional().describe('The secret sent as a bearer token, where the server wants one.'),
      price: z.literal(0).optional().describe('0: a server on this machine, whose models cost nothing.'),
    })
    .refine(({ price, baseUrl }) => price === undefined || isLoopback(baseUrl), {
      path: ['price'],
      error:
        '0 is for a server on this machine; elsewhere say so under prices:, e.g. "<provider>/*": {input: 0, output: 0}',
    }),
]);

export const ProviderName = z
  .string()
  .regex(/^[a-z0-9][a-z0-9-]{0,31}$/, 'a provider name is 1–32 characters of a-z, 0-9 and -');
