/** What a container and the host say to each other about probes: `targets.json` in, marked lines of JSON out. */
import { z } from 'zod';

export const Targets = z.strictObject({
  hostAddress: z.string(),
  hostPort: z.number(),
  hostUdpPort: z.number(),
  hasNameServer: z.boolean(),
  absentCapabilities: z.array(z.string()),
  loopbackPort: z.number(),
  victimFolder: z.string(),
  victimChat: z.string(),
  ownFolder: z.string(),
  ownChat: z.string(),
  memoryCeilingMb: z.number(),
  homeDir: z.string(),
});

const Evidence = z.string().transform((text) => bounded(text));

const EVIDENCE_CHARS_MAX = 300;
const bounded = (text: string): string => text.replace(/\s+/g, ' ').trim().slice(0, EVIDENCE_CHARS_MAX);

export const Report = z.union([
  z.strictObject({ reached: z.boolean(), evidence: Evidence }),
  z.strictObject({ missing: Evidence }),
  z.strictObject({ error: Evidence }),
]);
export type Report = z.infer<typeof Report>;

const Line = z.tuple([z.string(), Report]);

const MARK = '@probe ';

export const reportLine = (id: string, report: Report): string => {
  const short = Object.entries(report).map(([name, value]) => [
    name,
    typeof value === 'string' ? bounded(value) : value,
  ]);
  return `${MARK}${JSON.stringify([id, Object.fromEntries(short)])}`;
};

const parseLine = (line: string): readonly (readonly [string, Report])[] => {
  const at = line.indexOf(MARK);
  if (at === -1) return [];
  try {
    const parsed = Line.safeParse(JSON.parse(line.slice(at + MARK.length)));
    return parsed.success ? [parsed.data] : [];
  } catch {
    return []; // Cut in the middle: the probe counts as one that has said nothing.
  }
};

/** By probe id; the first word of a probe counts. */
export const readReports = (output: string): ReadonlyMap<string, Report> =>
  new Map(output.split('\n').flatMap(parseLine).reverse());
