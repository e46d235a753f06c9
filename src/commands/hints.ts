/** Commands in a hint, as the person who reads it has to give them: for the home that was named. Pure. */

const PLAIN = /^[\w@%+=:,./-]+$/;

const quoted = (word: string): string => (PLAIN.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);

/** `tierclaw` and the first word of a command. */
const COMMAND = /\btierclaw (?=[a-z])/g;

/** `homeOption`: as `--home` had it; undefined: it was not given, and the hint stays as it is. */
export const hintFor = (hint: string, homeOption: string | undefined): string => {
  if (homeOption === undefined || hint.includes('--home ')) return hint;
  // Before the verb, so that it stands right whatever follows; as a function, since a `$` in a path is only a `$`.
  return hint.replace(COMMAND, () => `tierclaw --home ${quoted(homeOption)} `);
};
