import { describe, expect, it } from 'vitest';
import { gatewayCause, noticeFor } from '../../src/domain/notice.ts';
import { AppError } from '../../src/errors.ts';
import { endingOfError, endingOfExit, endingOfFailure } from '../../src/flow/ending.ts';

const exit = { exitCode: 137, oomKilled: false, engineLost: false };

describe('how a turn ends', () => {
  it.each([
    ['by the engine’s word that memory ran out', endingOfExit({ ...exit, oomKilled: true }, 'so far'), 'oom'],
    ['by the engine going away', endingOfExit({ ...exit, engineLost: true, oomKilled: true }, null), 'engine-lost'],
    ['by an exit without an answer', endingOfExit(exit, null), 'failed'],
    [
      'by the runner’s own limit',
      endingOfError({ type: 'error', kind: 'limit', message: 'steps' }, 'so far'),
      'timeout',
    ],
    [
      'by a provider’s refusal',
      endingOfError({ type: 'error', kind: 'provider', status: 401, message: 'no' }, null),
      'failed',
    ],
    [
      'by an engine that can’t be reached',
      endingOfFailure(new AppError({ code: 'engine', message: 'down' })),
      'failed',
    ],
  ])('%s', (_, ending, reason) => {
    expect(ending.reason).toBe(reason);
    expect(ending.detail).not.toBeNull();
  });

  it.each([
    [401, 'refused'],
    [429, 'busy'],
    [500, 'does not answer'],
    [502, 'does not answer'],
  ])('tells the chat of a provider’s %i in words, without the operator’s details', (status, words) => {
    const ending = endingOfError(
      { type: 'error', kind: 'provider', status, message: 'https://internal.example/key=1' },
      null,
    );
    const notice = noticeFor('failed', ending.cause, 'T');
    expect(notice).toContain(words);
    expect(notice).toContain('kept');
    expect(notice).not.toContain('internal.example');
  });

  it.each([
    [429, true, 'used up what it may use'],
    [403, false, 'refused here, before any provider'],
    [429, false, 'refused here, before any provider'],
    [503, false, 'can’t be put on record'],
  ])('lays a %i (cap: %s) of the gateway’s own on no provider', (status, isCap, words) => {
    expect(noticeFor('failed', gatewayCause(status, isCap), 'T')).toContain(words);
  });

  it('keeps what was streamed where there was something', () => {
    expect(endingOfExit(exit, 'half an answer').text).toBe('half an answer');
  });
});
