import { describe, expect, it } from 'vitest';
import { parseConfig } from '../../src/config.ts';
import { type Provider, resolveProviders } from '../../src/gateway/providers.ts';
import { headersToReturn, judgeRequest, type RequestHead } from '../../src/gateway/rules.ts';
import { createSecrets } from '../../src/secrets.ts';
import { configFor, KEY } from './setup.ts';

const secrets = createSecrets(new Map([['KEY', KEY]]), '.env');
const providers = resolveProviders(parseConfig(configFor('http://127.0.0.1:9/base'), 'tierclaw.yaml'), secrets);
const provider = (name: string): Provider => {
  const found = providers.get(name);
  if (found === undefined) throw new Error(name);
  return found;
};

const head = (changes: Partial<RequestHead> = {}): RequestHead => ({
  method: 'POST',
  target: '/model/claude/v1/messages',
  ...changes,
  headers: { 'content-type': 'application/json', ...changes.headers },
});

describe('a request target', () => {
  it.each([
    ['claude', '/model/claude/v1/messages', '/base/v1/messages'],
    ['claude', '/model/claude/v1/messages?beta=true', '/base/v1/messages?beta=true'],
    ['claude', '/model/claude/v1/messages/count_tokens', '/base/v1/messages/count_tokens'],
    ['local', '/model/local/chat/completions', '/base/v1/chat/completions'],
    ['rehearsal', '/model/rehearsal/v1/messages', '/v1/messages'],
  ])('of %s %s goes to %s', (name, target, path) => {
    expect(judgeRequest(head({ target }), provider(name))).toMatchObject({ allow: true, path });
  });

  it.each([
    ['http://api.anthropic.com/v1/messages', 403],
    ['HTTPS://evil.example/', 403],
    ['http:/model/claude/v1/messages', 403],
    ['*', 400],
    ['model/claude/v1/messages', 400],
    ['', 400],
    ['//evil.example/model/claude/v1/messages', 400],
    ['/\\evil.example/v1/messages', 400],
    ['/model/claude/v1/%2e%2e/messages', 400],
    ['/model/claude/v1/%2E%2E%2Fmessages', 400],
    ['/model/claude/v1/../v1/messages', 400],
    ['/model/claude/./v1/messages', 400],
    ['/model/claude/v1/..', 400],
    ['/model/claude/v1\\messages', 400],
    ['/model/claude/v1/messages\0', 400],
    ['/model/claude/v1/messages\r\nx: y', 400],
    ['/model/claude/v1/messages#x', 400],
    ['/model/claude@evil.example/v1/messages', 400],
    ['/model/claude/v1/messages?beta=true?', 400],
    ['/model/claude/v1/messages/', 403],
    ['/model/claude//v1/messages', 403],
    ['/model/claude/v1/messages?beta=false', 403],
    ['/model/claude/v1/messages?beta=true&key=1', 403],
    ['/model/claude/v1/messages?', 403],
    ['/model/claude/v1/complete', 403],
    ['/model/claude/v1/files', 403],
    ['/model/claude/v1/MESSAGES', 403],
    ['/model/claude/chat/completions', 403],
    ['/model/claude/constructor', 403],
    ['/model/claude', 403],
    ['/model/local/chat/completions', 403],
    ['/model/__proto__/v1/messages', 403],
    ['/model/', 403],
    ['/model', 403],
    ['/host/db', 404],
    ['/cred/github/user', 404],
    ['/', 404],
  ])('%j is answered with %i', (target, status) => {
    const verdict = judgeRequest(head({ target }), provider('claude'));
    expect(verdict.allow ? 200 : verdict.status).toBe(status);
  });

  it.each(['GET', 'PUT', 'DELETE', 'OPTIONS', 'post', 'HEAD'])('is refused for the method %s', (method) => {
    expect(judgeRequest(head({ method }), provider('claude'))).toMatchObject({ allow: false, status: 403 });
  });

  it('of CONNECT is none for the model', () => {
    const verdict = judgeRequest(head({ method: 'CONNECT', target: 'api.anthropic.com:443' }), provider('claude'));
    expect(verdict).toMatchObject({ status: 403, reason: expect.stringContaining('isn’t one for the model provider') });
  });
});

describe('request headers', () => {
  const HOSTILE = {
    authorization: 'Bearer container',
    'x-api-key': 'container',
    'api-key': 'container',
    cookie: 'a=container',
    'proxy-authorization': 'Basic container',
    'x-goog-api-key': 'container',
    host: 'container.example',
    'x-forwarded-host': 'container.example',
    forwarded: 'host=container.example',
    connection: 'x-api-key',
    te: 'trailers',
    'transfer-encoding': 'chunked',
    'content-length': '1',
    'anthropic-version': '2023-06-01',
    'user-agent': 'sdk/1',
    accept: 'text/event-stream',
  };

  it('of Anthropic in API-key mode are these and no others', () => {
    expect(judgeRequest(head({ headers: HOSTILE }), provider('claude'))).toMatchObject({
      headers: {
        accept: 'text/event-stream',
        'user-agent': 'sdk/1',
        'anthropic-version': '2023-06-01',
        'content-type': 'application/json',
        'accept-encoding': 'identity',
        'x-api-key': KEY,
      },
    });
    expect(JSON.stringify(judgeRequest(head({ headers: HOSTILE }), provider('claude')))).not.toContain('container');
  });

  it('of an openai-compatible provider carry the key as a bearer token', () => {
    const verdict = judgeRequest(
      head({ target: '/model/local/chat/completions', headers: HOSTILE }),
      provider('local'),
    );
    expect(verdict.allow && verdict.headers).toEqual({
      accept: 'text/event-stream',
      'user-agent': 'sdk/1',
      'content-type': 'application/json',
      'accept-encoding': 'identity',
      authorization: `Bearer ${KEY}`,
    });
  });

  it.each([
    [undefined, 'oauth-2025-04-20'],
    ['context-1m-2025-08-07, oauth-2025-04-20', 'context-1m-2025-08-07,oauth-2025-04-20'],
    [
      'bad value; x, effort-2025-11-24, mcp-client-2025-11-20,inline-tools-2026-09-15',
      'effort-2025-11-24,oauth-2025-04-20',
    ],
  ])('of OAuth mode merge the betas %j into %j', (asked, merged) => {
    const headers = asked === undefined ? {} : { 'anthropic-beta': asked };
    const verdict = judgeRequest(head({ target: '/model/oauth/v1/messages', headers }), provider('oauth'));
    expect(verdict).toMatchObject({ headers: { authorization: `Bearer ${KEY}`, 'anthropic-beta': merged } });
    expect(verdict.allow && verdict.headers['x-api-key']).toBeUndefined();
  });

  it.each([
    ['content-type', 'text/plain'],
    ['content-type', 'application/json; charset=utf-16'],
    ['content-type', 'multipart/form-data; boundary=application/json'],
    ['content-encoding', 'gzip'],
  ])('with %s: %s are answered with 415', (name, value) => {
    expect(judgeRequest(head({ headers: { [name]: value } }), provider('claude'))).toMatchObject({ status: 415 });
  });
});

it('answer headers are an allowlist', () => {
  const given = {
    'Content-Type': 'application/json',
    'retry-after': '3',
    'request-id': 'req_1',
    'anthropic-ratelimit-tokens-remaining': '5',
    'set-cookie': ['a=b'],
    location: 'http://evil.example',
    server: 'internal',
    'anthropic-organization-id': 'org',
    'x-request-id': 'a\r\nb',
  };
  expect(headersToReturn(given)).toEqual({
    'content-type': 'application/json',
    'retry-after': '3',
    'request-id': 'req_1',
    'anthropic-ratelimit-tokens-remaining': '5',
  });
});
