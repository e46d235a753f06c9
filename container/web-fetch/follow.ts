/** From an address to the answer at the end of its redirects; each hop goes through the proxy and is judged there. */
import type { IncomingMessage } from 'node:http';
import { parseAddress } from './address.ts';
import { FetchFailure } from './failure.ts';
import { get, type Way } from './tunnel.ts';

export interface Arrival {
  readonly answer: IncomingMessage;
  readonly url: URL;
  readonly redirects: number;
}

const REDIRECTS_MAX = 5;
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

const nextOf = (answer: IncomingMessage, url: URL): URL | undefined => {
  const { location } = answer.headers;
  if (!REDIRECTS.has(answer.statusCode ?? 0) || location === undefined) return undefined;
  answer.destroy();
  return parseAddress(location, url);
};

const tooFar = (visited: readonly string[]): FetchFailure => {
  const last = visited.at(-1) ?? '';
  const isCircle = visited.indexOf(last) < visited.length - 1;
  const path = visited.join(' → ');
  return new FetchFailure(
    isCircle ? `it redirects in a circle: ${path}` : `it redirects more than ${REDIRECTS_MAX} times: ${path}`,
  );
};

export const follow = async (address: string, way: Way): Promise<Arrival> => {
  let url = parseAddress(address);
  const visited = [url.href];
  while (visited.length <= REDIRECTS_MAX + 1) {
    const answer = await get(url, way);
    const next = nextOf(answer, url);
    if (next === undefined) return { answer, url, redirects: visited.length - 1 };
    url = next;
    visited.push(url.href);
  }
  throw tooFar(visited);
};
