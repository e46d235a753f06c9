import { describe, expect, it } from 'vitest';
import { toModelMessages } from '../../container/runner/agents/ai-sdk-history.ts';
import type { TranscriptEntry } from '../../src/protocol.ts';

const user: TranscriptEntry = { role: 'user', content: 'hello' };
const says = (text: string): TranscriptEntry => ({ role: 'assistant', content: [{ type: 'text', text }] });
const call = { type: 'tool-call', toolCallId: 'a', toolName: 'bash', input: {} };
const calls = (...ids: string[]): TranscriptEntry => ({
  role: 'assistant',
  content: [
    { type: 'text', text: 'let me look' },
    ...ids.map((toolCallId) => ({ type: 'tool-call', toolCallId, toolName: 'bash', input: {} })),
  ],
});
const results = (...ids: string[]): TranscriptEntry => ({
  role: 'tool',
  content: ids.map((toolCallId) => ({
    type: 'tool-result',
    toolCallId,
    toolName: 'bash',
    output: { type: 'text', value: 'ok' },
  })),
});

describe('kept entries', () => {
  it.each<[string, TranscriptEntry[], TranscriptEntry[]]>([
    [
      'a whole turn stays',
      [user, calls('a', 'b'), results('b', 'a'), says('done')],
      [user, calls('a', 'b'), results('b', 'a'), says('done')],
    ],
    ['a window that begins with a result', [results('a'), says('done'), user], [user]],
    ['a call without a result keeps its text', [user, calls('a'), user], [user, says('let me look'), user]],
    ['a call with some of its results', [user, calls('a', 'b'), results('a')], [user, says('let me look')]],
    ['a result too many', [user, calls('a'), results('a', 'b'), says('x')], [user, says('let me look'), says('x')]],
    ['results of nobody', [user, says('x'), results('a')], [user, says('x')]],
    ['an entry of another shape', [user, { role: 'assistant', content: [{ type: 'surprise' }] }, user], [user, user]],
    [
      'a file, which no turn keeps and a provider may refuse for ever',
      [user, { role: 'user', content: [{ type: 'file', mediaType: 'video/x', data: 'AAAA' }] }, says('x')],
      [user, says('x')],
    ],
    [
      'a call of a tool whose name no provider takes',
      [user, { role: 'assistant', content: [{ ...call, toolName: 'no such!' }] }, results('a'), says('x')],
      [user, says('x')],
    ],
    ['an empty answer', [user, { role: 'assistant', content: [] }, says(' \n'), user], [user, user]],
    ['nothing', [], []],
  ])('%s', (_, entries, expected) => {
    expect(toModelMessages(entries)).toEqual(expected);
  });
});
