/**
 * The path of a request to a credential's API, parsed strictly. Pure. Invariant: what passes means the same to every
 * server: no segment that one of them would resolve, decode or normalise into another path.
 */

export type ParsedPath = { readonly ok: true; readonly segments: readonly string[] } | { ok: false; problem: string };

/** Longer ones are no path of an API, and cost something at each comparison. */
const PATH_CHARS_MAX = 4096;
/** RFC 3986's characters of a segment, without `;`: some servers cut a segment off there. */
const SEGMENT = /^(?:[A-Za-z0-9\-._~!$&'()*+,=:@]|%[0-9A-Fa-f]{2})+$/;
/** Encoded letters, digits and dots are dots and letters to one server and text to another; `%` may be decoded twice. */
const AMBIGUOUS = /%(?:[01][0-9a-f]|7f|2[ef5]|5c|3b|3[0-9]|4[1-9a-f]|5[0-9a]|6[1-9a-f]|7[0-9a]|2d|5f|7e)/i;

const problemOf = (segment: string): string | null => {
  if (segment === '') return 'an empty segment (//)';
  if (!SEGMENT.test(segment)) return 'a character that no path here has (;, \\, control characters …)';
  if (AMBIGUOUS.test(segment))
    return 'an encoded dot, slash, backslash, percent sign, letter, digit or control character';
  return meaningProblem(segment);
};

const meaningProblem = (segment: string): string | null => {
  try {
    // Some servers fold full-width and other look-alike characters before they look a path up.
    const folded = decodeURIComponent(segment).normalize('NFKC');
    if (/^\.{1,2}$/.test(folded)) return 'a . or .. segment';
    return /[/\\%;]/.test(folded) || /\p{Cc}/u.test(folded) ? 'a character that stands for / or \\' : null;
  } catch {
    return 'an encoding that isn’t UTF-8';
  }
};

/** `/a/b` and `/a/b/` as they stand; a slash at the end is an empty last segment. */
export const parsePath = (path: string): ParsedPath => {
  if (!path.startsWith('/')) return { ok: false, problem: 'the path must begin with /' };
  if (path.length > PATH_CHARS_MAX)
    return { ok: false, problem: `the path is longer than ${PATH_CHARS_MAX} characters` };
  const segments = path.slice(1).split('/');
  const checked = segments.at(-1) === '' ? segments.slice(0, -1) : segments;
  const problem = checked.map(problemOf).find((found) => found !== null);
  return problem === undefined ? { ok: true, segments } : { ok: false, problem: `the path has ${problem}` };
};

/** Segment by segment and letter by letter: `/repos/x` holds for `/repos/x` and `/repos/x/y`, not for `/repos/xy`. */
export const isBeneathPrefix = (segments: readonly string[], prefix: string): boolean => {
  const wanted = prefix.split('/').filter((segment) => segment !== '');
  return wanted.every((segment, at) => segments[at] === segment);
};
