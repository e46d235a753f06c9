/** A check of what leaves the host: whether the provider answers. */
import type { Check } from '../doctor.ts';

export const providerChecks: readonly Check[] = [
  { id: 'provider', title: 'provider', run: ({ preflight }) => preflight() },
];
