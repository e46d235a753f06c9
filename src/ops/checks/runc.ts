/** runc's versions and the known ways out of its containers. Pure. */

interface Escape {
  readonly cves: readonly string[];
  /** The first good version of each line of releases; every line above the last of them has the fix. */
  readonly fixedIn: readonly string[];
}

/** From the advisories of opencontainers/runc. */
const ESCAPES: readonly Escape[] = [
  { cves: ['CVE-2024-21626'], fixedIn: ['1.1.12'] },
  { cves: ['CVE-2025-31133', 'CVE-2025-52565', 'CVE-2025-52881'], fixedIn: ['1.2.8', '1.3.3', '1.4.0-rc.3'] },
];

/** major, minor, patch, release candidate; a release comes after all its candidates. */
type Version = readonly [number, number, number, number];

const parse = (text: string): Version | null => {
  const [, major, minor, patch, candidate] = /^v?(\d+)\.(\d+)\.(\d+)(?:[-~]rc\.?(\d+))?/.exec(text) ?? [];
  if (major === undefined || minor === undefined || patch === undefined) return null;
  return [Number(major), Number(minor), Number(patch), candidate === undefined ? Infinity : Number(candidate)];
};

const isOlder = (one: Version, other: Version): boolean => {
  const at = one.findIndex((part, index) => part !== other[index]);
  return at >= 0 && (one[at] ?? 0) < (other[at] ?? 0);
};

const isSameLine = (one: Version, other: Version): boolean => one[0] === other[0] && one[1] === other[1];

const hasFix = (version: Version, fixedIn: readonly string[]): boolean => {
  const fixes = fixedIn.map(parse).filter((fix) => fix !== null);
  const own = fixes.find((fix) => isSameLine(fix, version));
  if (own !== undefined) return !isOlder(version, own);
  return fixes.every((fix) => isOlder(fix, version));
};

/** CVEs whose fix is younger than that version; null: the version isn't understood. */
export const openEscapes = (version: string): readonly string[] | null => {
  const parsed = parse(version);
  if (parsed === null) return null;
  return ESCAPES.filter(({ fixedIn }) => !hasFix(parsed, fixedIn)).flatMap(({ cves }) => cves);
};
