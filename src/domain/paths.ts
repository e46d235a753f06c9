/**
 * The one mapping between paths in a container and paths on the host, both ways, from the mounts of its plan. Purely
 * lexical: it says where a path belongs; whoever opens it walks `relative` beneath the mount's source without links.
 */

export interface PathMount {
  /** Absolute, in the container. */
  readonly target: string;
  /** Absolute, on the host. */
  readonly source: string;
  readonly mode: 'ro' | 'rw';
}

export interface PathRefusal {
  readonly ok: false;
  readonly reason: string;
}

export interface HostPlace<M extends PathMount = PathMount> {
  readonly ok: true;
  readonly host: string;
  readonly mount: M;
  /** The names beneath the mount's source; empty for the mount itself. */
  readonly relative: readonly string[];
}

export interface ContainerPlace<M extends PathMount = PathMount> {
  readonly ok: true;
  readonly container: string;
  readonly mount: M;
  readonly relative: readonly string[];
}

const refused = (reason: string): PathRefusal => ({ ok: false, reason });

/** Bounded and escaped: the path was chosen by a stranger. */
const shown = (path: string): string => JSON.stringify(path.length > 200 ? `${path.slice(0, 200)}…` : path);

const join = (root: string, names: readonly string[]): string =>
  `/${[...root.split('/'), ...names].filter((name) => name !== '').join('/')}`;

/** The names of an absolute path without empty and `.` parts, `..` resolved by the text alone; else why not. */
export const normalise = (path: string): readonly string[] | PathRefusal => {
  if (!path.startsWith('/')) return refused(`${shown(path)} is not an absolute path`);
  if (path.includes('\0')) return refused(`${shown(path)} has a NUL in it`);
  const names: string[] = [];
  for (const part of path.split('/')) {
    if (part === '..' && names.pop() === undefined) return refused(`${shown(path)} leads above the root`);
    if (part !== '' && part !== '.' && part !== '..') names.push(part);
  }
  return names;
};

const isRefusal = (value: readonly string[] | PathRefusal): value is PathRefusal => 'ok' in value;

const namesOf = (path: string): readonly string[] => {
  const names = normalise(path);
  return isRefusal(names) ? [] : names;
};

const liesBeneath = (names: readonly string[], root: readonly string[]): boolean =>
  root.length <= names.length && root.every((name, index) => names[index] === name);

interface Placed<M> {
  readonly mount: M;
  readonly relative: readonly string[];
}

/** The mount whose root is the longest that the path lies beneath; of equals the first. */
const longest = <M>(
  mounts: readonly M[],
  names: readonly string[],
  rootOf: (mount: M) => string,
): Placed<M> | undefined => {
  const candidates = mounts
    .map((mount) => ({ mount, root: namesOf(rootOf(mount)) }))
    .filter(({ root }) => liesBeneath(names, root));
  const [best] = candidates.toSorted((a, b) => b.root.length - a.root.length);
  return best === undefined ? undefined : { mount: best.mount, relative: names.slice(best.root.length) };
};

/** Where a path of the container lies on the host; refused where no mount holds it. */
export const toHost = <M extends PathMount>(
  mounts: readonly M[],
  containerPath: string,
): HostPlace<M> | PathRefusal => {
  const names = normalise(containerPath);
  if (isRefusal(names)) return names;
  const place = longest(mounts, names, (mount) => mount.target);
  if (place === undefined) return refused(`${shown(containerPath)} lies in no directory shared with the host`);
  return { ok: true, ...place, host: join(place.mount.source, place.relative) };
};

/** How the container calls a path of the host; refused where no mount shows it or another mount covers it there. */
export const toContainer = <M extends PathMount>(
  mounts: readonly M[],
  hostPath: string,
): ContainerPlace<M> | PathRefusal => {
  const names = normalise(hostPath);
  if (isRefusal(names)) return names;
  const place = longest(mounts, names, (mount) => mount.source);
  if (place === undefined) return refused(`${shown(hostPath)} is not visible in the container`);
  const container = join(place.mount.target, place.relative);
  const back = toHost(mounts, container);
  if (!back.ok || back.mount !== place.mount) return refused(`${shown(hostPath)} is covered by another mount`);
  return { ok: true, ...place, container };
};
