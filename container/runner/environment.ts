/** The environment of every command the model runs: this list and nothing else, so nothing of the runner's leaks. Pure. */
import type { RunnerPaths } from './paths.ts';

/** Of the container. */
export interface OwnEnvironment {
  readonly PATH?: string | undefined;
  readonly LANG?: string | undefined;
  readonly TZ?: string | undefined;
  readonly [name: string]: string | undefined;
}

const PATH_DEFAULT = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

const pick = (own: OwnEnvironment, names: readonly string[]): Record<string, string> =>
  Object.fromEntries(names.flatMap((name) => (own[name] === undefined ? [] : [[name, own[name]]])));

export interface CommandSurroundings extends Pick<RunnerPaths, 'home' | 'relayPort'> {
  /** Names of environment credentials that commands get. */
  readonly credentials?: readonly string[] | undefined;
}

/** The container's own servers, a browser's or a test's. */
const DIRECT = 'localhost,127.0.0.1,::1';

/** The proxy variables lead to the relay; Node's own fetch heeds them only with NODE_USE_ENV_PROXY. */
export const commandEnvironment = (
  own: OwnEnvironment,
  { home, relayPort, credentials = [] }: CommandSurroundings,
): Record<string, string> => {
  const proxy = `http://127.0.0.1:${relayPort}`;
  return {
    // First, so that none of them takes the place of what follows.
    ...pick(own, credentials),
    PATH: own.PATH || PATH_DEFAULT,
    HOME: home,
    LANG: own.LANG || 'C.UTF-8',
    ...(own.TZ ? { TZ: own.TZ } : {}),
    HTTP_PROXY: proxy,
    HTTPS_PROXY: proxy,
    http_proxy: proxy,
    https_proxy: proxy,
    NO_PROXY: DIRECT,
    no_proxy: DIRECT,
    NODE_USE_ENV_PROXY: '1',
  };
};
