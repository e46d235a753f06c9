/** What the SDK throws → ProviderError with a short message. No address and nothing that looks like a key passes. Pure. */
import { APICallError, RetryError } from 'ai';
import { ProviderError } from '../agent.ts';

const MESSAGE_CHARS_MAX = 500;

export const withoutSecrets = (message: string): string =>
  message
    .replace(/\b[a-z][a-z0-9+.-]*:\/\/\S+/gi, '[address]')
    .replace(/\bbearer\s+\S+/gi, '[key]')
    .replace(/\b(?:sk|pk|gh[a-z]|xox[a-z]|key)[-_][A-Za-z0-9_-]{8,}/g, '[key]')
    .replace(/[A-Za-z0-9_-]{40,}/g, '[key]')
    .slice(0, MESSAGE_CHARS_MAX);

const messageOf = (thrown: unknown): string => {
  if (typeof thrown === 'object' && thrown !== null && 'message' in thrown) return String(thrown.message);
  return String(thrown);
};

export const toProviderError = (thrown: unknown): ProviderError => {
  if (thrown instanceof ProviderError) return thrown;
  if (RetryError.isInstance(thrown)) return toProviderError(thrown.lastError);
  const status = APICallError.isInstance(thrown) ? thrown.statusCode : undefined;
  const message = withoutSecrets(messageOf(thrown)) || 'no reason given';
  return new ProviderError(status === undefined ? message : `HTTP ${status}: ${message}`, status);
};
