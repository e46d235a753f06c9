/** The environment of every command the model runs: this list and nothing else, so nothing of the runner's leaks. Pure. */
import type { RunnerPaths } from './paths.ts';

export interface OwnEnvironment {
  readonly PATH?: string | undefined;
  readonly LANG?: string | undefined;
  readonly TZ?: string | undefined;
}

const PATH_DEFAULT = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** The proxy variables lead to the relay; Node's own fetch heeds them only with NODE_USE_ENV_PROXY. */
export const commandEnvironment = (
  own: OwnEnvironment,
  paths: Pick<RunnerPaths, 'home' | 'relayPort'>,
): Record<string, string> => {
  const proxy = `http://127.0.0.1:${paths.relayPort}`;
  return {
    PATH: own.PATH || PATH_DEFAULT,
    HOME: paths.home,
    LANG: own.LANG || 'C.UTF-8',
    ...(own.TZ ? { TZ: own.TZ } : {}),
    HTTP_PROXY: proxy,
    HTTPS_PROXY: proxy,
    http_proxy: proxy,
    https_proxy: proxy,
    NO_PROXY: '127.0.0.1,localhost',
    no_proxy: '127.0.0.1,localhost',
    NODE_USE_ENV_PROXY: '1',
  };
};
