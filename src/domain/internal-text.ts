/**
 * What a model writes between `<internal>` and `</internal>` never leaves. Tags may nest, in any case; one that is
 * never closed hides the rest; a closing tag without an opening one is dropped. How a text is cut into pieces makes
 * no difference.
 */

/** White space before the `>` is forgiven up to 16 units: without a bound a hostile text could be held for ever. */
const TAG = /<(\/?)internal\s{0,16}>/gi;
/** A piece from its last `<` on that could still become a tag. */
const BEGINNING = /^<\/?(?:i(?:n(?:t(?:e(?:r(?:n(?:a(?:l\s{0,16})?)?)?)?)?)?)?)?$/i;

export interface InternalStripper {
  /** Takes the next piece; returns what may be shown by now. A possible beginning of a tag is held back. */
  push(delta: string): string;
  /** The text is over: returns what was held back and turned out to be no tag. */
  end(): string;
}

/** Where the possible beginning of a tag stands at the end of the text; its length if nowhere. */
const beginningOfTag = (text: string, from: number): number => {
  const last = text.lastIndexOf('<');
  return last >= from && BEGINNING.test(text.slice(last)) ? last : text.length;
};

export const createInternalStripper = (): InternalStripper => {
  let depth = 0;
  let held = '';
  const show = (piece: string): string => (depth === 0 ? piece : '');

  const push = (delta: string): string => {
    const text = held + delta;
    let visible = '';
    let from = 0;
    for (const tag of text.matchAll(TAG)) {
      visible += show(text.slice(from, tag.index));
      depth = tag[1] === '' ? depth + 1 : Math.max(0, depth - 1);
      from = tag.index + tag[0].length;
    }
    const until = beginningOfTag(text, from);
    held = text.slice(until);
    return visible + show(text.slice(from, until));
  };

  const end = (): string => {
    const rest = show(held);
    held = '';
    return rest;
  };

  return { push, end };
};

/** The text without its internal parts; white space around them stays. */
export const stripInternal = (text: string): string => {
  const stripper = createInternalStripper();
  return stripper.push(text) + stripper.end();
};
