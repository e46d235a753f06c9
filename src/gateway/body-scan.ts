/**
 * Finds the members of a JSON object in bytes as they arrive, in time that depends on their number alone. Own code
 * instead of JSON.parse, because a hostile body of a few megabytes (`[[[[…`, `{},{},…`) holds JSON.parse, and with it
 * the one event loop of all chats, for half a second.
 *
 * The invariant: whatever passes here has the same top-level keys and values for every reader, strict or lenient. So
 * outside of strings only the characters of strict JSON are allowed (no comments, no quotes of other kinds), brackets
 * match, and a value can't hide another member.
 */

/** Byte offsets, ends exclusive; the key's include its quotes. */
export interface Member {
  readonly keyStart: number;
  readonly keyEnd: number;
  readonly valueStart: number;
  readonly valueEnd: number;
}

export interface BodyScan {
  readonly members: readonly Member[];
  /** Values at any depth, about: what parsing the whole would cost. */
  readonly values: number;
}

export interface BodyScanner {
  /** Bytes in their order, in pieces of any size. */
  push(chunk: Uint8Array): void;
  /** The members, or why the bytes are not one JSON object. */
  end(): BodyScan | { readonly problem: string };
}

/** Deeper than any request that a person's tools make, shallow enough for every parser's stack. */
const DEPTH_MAX = 200;
const MEMBERS_MAX = 200;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const BRACE = 0x7b;
const CLOSING_BRACE = 0x7d;
const CLOSING_BRACKET = 0x5d;

const REFUSED = 0;
const SPACE = 1;
const SCALAR = 2;
const OPENER = 3;
const CLOSER = 4;
const OTHER = 5;

const kindTable = (): Uint8Array => {
  const table = new Uint8Array(256).fill(REFUSED);
  const mark = (characters: string, kind: number): void => {
    for (const byte of Buffer.from(characters)) table[byte] = kind;
  };
  mark(' \t\r\n', SPACE);
  mark('0123456789+-.eEtrufalsn', SCALAR);
  mark('{[', OPENER);
  mark('}]', CLOSER);
  mark('",:', OTHER);
  return table;
};
const KINDS = kindTable();

type Phase = 'start' | 'key' | 'colon' | 'value' | 'end';

interface State {
  phase: Phase;
  position: number;
  inString: boolean;
  escaped: boolean;
  /** Closing brackets that are still to come, innermost last. */
  readonly closers: number[];
  keyStart: number;
  keyEnd: number;
  valueStart: number;
  valueEnd: number;
  values: number;
  readonly members: Member[];
  problem: Problem;
}

/** Why the bytes are refused; undefined: go on. */
type Problem = string | undefined;

const atTop = (state: State): boolean => state.closers.length === 1;

/** A string, a bracket or a scalar's character begins or goes on as the value of a top-level member. */
const noteValue = (state: State, continues: boolean): Problem => {
  if (state.phase !== 'value') return 'a key must be a string';
  const begins = state.valueStart < 0;
  if (!begins && !(continues && state.valueEnd === state.position)) return 'two values without a comma';
  if (begins) state.valueStart = state.position;
  state.valueEnd = state.position + 1;
  return undefined;
};

const endMember = (state: State): Problem => {
  if (state.phase !== 'value' || state.valueStart < 0) return 'a key without a value';
  if (state.members.length >= MEMBERS_MAX) return `more than ${MEMBERS_MAX} keys`;
  const { keyStart, keyEnd, valueStart, valueEnd } = state;
  state.members.push({ keyStart, keyEnd, valueStart, valueEnd });
  state.valueStart = -1;
  return undefined;
};

const endString = (state: State, position: number): void => {
  state.inString = false;
  if (!atTop(state)) return;
  if (state.phase === 'value') {
    state.valueEnd = position + 1;
    return;
  }
  state.keyEnd = position + 1;
  state.phase = 'colon';
};

/** Passes over the bytes of a string up to its end or the chunk's; gives the index of the first byte not looked at. */
const skipString = (state: State, chunk: Uint8Array, from: number): number => {
  let at = from;
  while (at < chunk.length && state.inString) {
    const byte = chunk[at];
    if (state.escaped) state.escaped = false;
    else if (byte === BACKSLASH) state.escaped = true;
    else if (byte === QUOTE) endString(state, state.position + at - from);
    at += 1;
  }
  state.position += at - from;
  return at;
};

const beginString = (state: State): Problem => {
  state.inString = true;
  if (!atTop(state)) return undefined;
  if (state.phase !== 'key') return noteValue(state, false);
  state.keyStart = state.position;
  return undefined;
};

const open = (state: State, byte: number): Problem => {
  if (state.closers.length >= DEPTH_MAX) return `nested deeper than ${DEPTH_MAX}`;
  if (state.phase === 'start' && byte !== BRACE) return 'it must be an object';
  const problem = atTop(state) ? noteValue(state, false) : undefined;
  if (state.phase === 'start') state.phase = 'key';
  state.values += 1;
  state.closers.push(byte === BRACE ? CLOSING_BRACE : CLOSING_BRACKET);
  return problem;
};

const close = (state: State, byte: number): Problem => {
  const top = atTop(state);
  const isEmpty = state.phase === 'key' && state.members.length === 0;
  const problem = top && !isEmpty ? endMember(state) : undefined;
  if (state.closers.pop() !== byte) return 'brackets that don’t match';
  if (top) state.phase = 'end';
  else if (atTop(state)) state.valueEnd = state.position + 1;
  return problem;
};

const commaOrColon = (state: State, byte: number): Problem => {
  state.values += 1;
  if (!atTop(state)) return undefined;
  if (byte === COMMA) {
    const problem = endMember(state);
    state.phase = 'key';
    return problem;
  }
  if (state.phase !== 'colon') return 'a colon out of place';
  state.phase = 'value';
  return undefined;
};

const structuralByte = (state: State, byte: number): Problem => {
  const kind = KINDS[byte];
  if (kind === SPACE) return undefined;
  if (kind === REFUSED) return 'characters outside of strings that JSON doesn’t have';
  if (state.phase === 'end') return 'something follows the object';
  if (kind === OPENER) return open(state, byte);
  if (state.phase === 'start') return 'it must be an object';
  if (kind === CLOSER) return close(state, byte);
  if (kind === SCALAR) return atTop(state) ? noteValue(state, true) : undefined;
  return byte === QUOTE ? beginString(state) : commaOrColon(state, byte);
};

/** One scanner per body. */
export const createBodyScanner = (): BodyScanner => {
  const state: State = {
    phase: 'start',
    position: 0,
    inString: false,
    escaped: false,
    closers: [],
    keyStart: -1,
    keyEnd: -1,
    valueStart: -1,
    valueEnd: -1,
    values: 0,
    members: [],
    problem: undefined,
  };
  return {
    push: (chunk) => {
      let at = 0;
      while (at < chunk.length && state.problem === undefined) {
        if (state.inString) {
          at = skipString(state, chunk, at);
          continue;
        }
        state.problem = structuralByte(state, chunk[at] ?? 0);
        state.position += 1;
        at += 1;
      }
    },
    end: () => {
      const problem = state.problem ?? (state.phase === 'end' ? undefined : 'it ends too early');
      return problem === undefined ? { members: state.members, values: state.values } : { problem };
    },
  };
};
