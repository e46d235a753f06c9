/** Names and values that a container's environment may be given. Pure. */

/** The kernel takes 128 KiB for one string; no credential is near it. */
const VALUE_BYTES_MAX = 32 * 1024;
/** A shorter value couldn't be taken out of texts again: see `redact`. */
export const CREDENTIAL_CHARS_MIN = 6;

/** They say which programs run, what these load, and where their traffic goes. */
const RESERVED = [
  /^(PATH|HOME|SHELL|USER|LOGNAME|PWD|OLDPWD|IFS|ENV|TERM|TZ|LANG|LANGUAGE|HOSTNAME|TMPDIR|TMP|TEMP|EDITOR|VISUAL|PAGER)$/,
  /^(LD|DYLD|LC|NODE|NPM|BASH|GIT|PYTHON|PERL5?|RUBY|JAVA|JDK|GLIBC|MALLOC|GCONV|LOCPATH|SSL|CURL|TIERCLAW|OPENSSL|REQUESTS_CA)_/,
  /^(BASHOPTS|SHELLOPTS|PS[0-9]|PROMPT_COMMAND|PYTHON[A-Z0-9_]*|PERL5[A-Z]*|RUBYOPT|RUBYLIB|GCONV_PATH|LOCPATH|NLSPATH|CDPATH|GLOBIGNORE|CLASSPATH)$/,
  /(^|_)PROXY$/,
];

export const isReservedVariable = (name: string): boolean => RESERVED.some((pattern) => pattern.test(name));

/** Why this value can't be given to a container; null when it can. Never has the value in it. */
export const valueProblem = (value: string): string | null => {
  if (value.length < CREDENTIAL_CHARS_MIN) return `it is shorter than ${CREDENTIAL_CHARS_MIN} characters`;
  if (new TextEncoder().encode(value).length > VALUE_BYTES_MAX) return `it is longer than ${VALUE_BYTES_MAX} bytes`;
  return value.includes('\0') ? 'it has a NUL character in it' : null;
};
