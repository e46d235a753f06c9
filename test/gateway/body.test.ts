import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { tierRow } from '../../src/domain/tiers.ts';
import { judgeBody } from '../../src/gateway/body-rules.ts';
import { type BodyScan, createBodyScanner } from '../../src/gateway/body-scan.ts';
import type { Endpoint } from '../../src/gateway/rules.ts';

const caps = { ...tierRow('untrusted').model, maxTokens: 1000 };

const scan = (text: string, pieceBytes = 1 << 20): BodyScan | { problem: string } => {
  const scanner = createBodyScanner();
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += pieceBytes) scanner.push(bytes.subarray(at, at + pieceBytes));
  return scanner.end();
};

const judge = (text: string, endpoint: Endpoint = 'messages') => {
  const found = scan(text);
  if ('problem' in found) return { allow: false, status: 400, reason: found.problem };
  return judgeBody({ endpoint, bytes: Buffer.from(text), scan: found, grant: { models: ['m1', 'm2'], caps } });
};

const sent = (text: string, endpoint: Endpoint = 'messages'): unknown => {
  const verdict = judge(text, endpoint);
  return 'bytes' in verdict ? JSON.parse(verdict.bytes.toString()) : verdict;
};

describe('the scanner', () => {
  it('finds the members of any JSON object, however the bytes are cut', () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.string(), fc.jsonValue()),
        fc.integer({ min: 1, max: 7 }),
        fc.nat(2),
        (object, piece, indent) => {
          const text = JSON.stringify(object, null, indent);
          const bytes = Buffer.from(text);
          const found = scan(text, piece);
          if ('problem' in found) throw new Error(found.problem);
          const entries = found.members.map(({ keyStart, keyEnd, valueStart, valueEnd }) => [
            JSON.parse(bytes.subarray(keyStart, keyEnd).toString()),
            JSON.parse(bytes.subarray(valueStart, valueEnd).toString()),
          ]);
          expect(entries).toEqual(Object.entries(JSON.parse(text)));
        },
      ),
    );
  });

  it.each([
    ['', 'ends too early'],
    ['[]', 'must be an object'],
    ['"x"', 'must be an object'],
    ['null', 'must be an object'],
    ['{"a":1', 'ends too early'],
    ['{"a":1}{"b":2}', 'follows'],
    ['{"a":1}x', 'doesn’t have'],
    ['{"a":1,}', 'without a value'],
    ['{,}', 'without a value'],
    ['{"a"}', 'without a value'],
    ['{"a":}', 'without a value'],
    ['{"a":1 "model":"evil"}', 'two values'],
    ['{"a":"x" "model":"evil"}', 'two values'],
    ['{"a":[] "model":"evil"}', 'two values'],
    ['{"a":[]:"evil"}', 'colon'],
    ['{"a":1:2}', 'colon'],
    ['{true:1}', 'must be a string'],
    ['{"a":1,/*"*/"model":"evil"/*"*/}', 'doesn’t have'],
    ["{'model':'evil'}", 'doesn’t have'],
    ['{model:"evil"}', 'doesn’t have'],
    ['{"a":[}', 'match'],
    ['{"a":{]}', 'match'],
    ['\u0000{\u0000}', 'doesn’t have'],
    ['\uFEFF{}', 'doesn’t have'],
    [`{"a":${'['.repeat(300)}${']'.repeat(300)}}`, 'nested deeper'],
    [`{${Array.from({ length: 300 }, (_, index) => `"k${index}":1`).join()}}`, 'more than 200 keys'],
  ])('refuses %.40j', (text, problem) => {
    expect(scan(text)).toEqual({ problem: expect.stringContaining(problem) });
  });

  it('takes an empty object', () => {
    expect(scan(' { } ')).toEqual({ members: [], values: 1 });
  });
});

describe('the body', () => {
  const ASK = '"max_tokens":10,"messages":[]';

  it.each([
    ['another model', `{"model":"evil",${ASK}}`, 403, 'm1, m2'],
    ['no model', `{${ASK}}`, 400, 'model'],
    ['a model that isn’t a string', `{"model":["m1"],${ASK}}`, 400, 'model'],
    ['a key twice', `{"model":"m1","model":"evil",${ASK}}`, 400, 'twice'],
    ['a key twice, once escaped', `{"model":"m1","mo\\u0064el":"evil",${ASK}}`, 400, 'twice'],
    ['a key that differs in case', `{"model":"m1","Model":"evil",${ASK}}`, 400, 'write it as'],
    ['a key with a sign that folds to k', `{"model":"m1","max_to\u212Aens":9999,${ASK}}`, 400, 'write it as'],
    ['a key with a long s', `{"model":"m1","max_token\u017F":9999,${ASK}}`, 400, 'write it as'],
    ['a list of models', `{"model":"m1","models":["evil"],${ASK}}`, 403, 'goes round'],
    ['another name of the cap', `{"model":"m1","n_predict":99999,${ASK}}`, 403, 'goes round'],
    ['servers that the provider would call', `{"model":"m1","mcp_servers":[],${ASK}}`, 403, 'goes round'],
    [
      'a tool that the provider would run',
      `{"model":"m1","tools":[{"type":"web_fetch_20250910"}],${ASK}}`,
      403,
      'provider',
    ],
    ['tools that aren’t a list', `{"model":"m1","tools":{},${ASK}}`, 400, 'tools'],
    ['too many tokens', '{"model":"m1","max_tokens":1001}', 403, '1000'],
    ['too many completion tokens', `{"model":"m1","max_completion_tokens":1001,${ASK}}`, 403, '1000'],
    ['no token cap', '{"model":"m1"}', 400, 'max_tokens'],
    ['a token cap of null', '{"model":"m1","max_tokens":null}', 400, 'max_tokens'],
    ['a token cap beyond numbers', '{"model":"m1","max_tokens":1e999}', 400, 'positive integer'],
    ['a token cap below one', '{"model":"m1","max_tokens":-5}', 400, 'positive integer'],
    ['a token cap in quotes', '{"model":"m1","max_tokens":"5"}', 400, 'positive integer'],
    ['several answers', `{"model":"m1","n":2,${ASK}}`, 403, '"n"'],
    ['a stream that isn’t a boolean', `{"model":"m1","stream":"true",${ASK}}`, 400, 'stream'],
    ['a checked value that isn’t JSON', `{"model":"m1","max_tokens":00}`, 400, 'valid JSON'],
  ])('with %s is refused', (_, text, status, reason) => {
    expect(judge(text)).toEqual({ allow: false, status, reason: expect.stringContaining(reason) });
  });

  it('is put together anew with the same meaning', () => {
    const text = '{ "messages" : [ {"role":"user","content":"a } \\" b"} ] , "model":"m1", "max_tokens" : 1e2 }';
    expect(sent(text)).toEqual(JSON.parse(text));
  });

  it('keeps a key named __proto__ what it is: a key', () => {
    const verdict = judge('{"__proto__":{"model":"evil"},"model":"m1","max_tokens":1}');
    expect('bytes' in verdict && verdict.bytes.toString()).toBe(
      '{"__proto__":{"model":"evil"},"model":"m1","max_tokens":1}',
    );
  });

  it('of a chat completion gets the token cap and usage reporting where they are missing', () => {
    expect(sent('{"model":"m1","stream":true,"max_tokens":null,"messages":[]}', 'chat')).toEqual({
      model: 'm1',
      stream: true,
      messages: [],
      max_tokens: 1000,
      stream_options: { include_usage: true },
    });
    expect(sent('{"model":"m1","max_completion_tokens":5}', 'chat')).toEqual({ model: 'm1', max_completion_tokens: 5 });
    expect(
      sent('{"model":"m1","max_tokens":5,"stream":true,"stream_options":{"include_usage":false,"x":1}}', 'chat'),
    ).toEqual({
      model: 'm1',
      max_tokens: 5,
      stream: true,
      stream_options: { include_usage: true, x: 1 },
    });
  });

  it('of a token count needs no token cap', () => {
    expect(sent('{"model":"m2","messages":[]}', 'count-tokens')).toEqual({ model: 'm2', messages: [] });
  });

  it('of several megabytes of hostile structure is judged without parsing it', () => {
    for (const piece of ['{},', '[],', '"k":1,'.replace('"k":', ''), '{"a":{}},']) {
      const text = `{"model":"m1","max_tokens":1,"x":[${piece.repeat((4 << 20) / piece.length)}1]}`;
      expect(judge(text)).toMatchObject({ allow: true });
    }
  });
});
