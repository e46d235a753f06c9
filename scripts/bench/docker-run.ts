/** The engine's create options as arguments of `docker run`, so that both start the very same container. Pure. */
import type { ContainerCreateOptions, HostConfig, MountSettings } from 'dockerode';

const SECCOMP = 'seccomp=';

const mountArgument = ({ Source, Target, ReadOnly }: MountSettings): string =>
  `type=bind,source=${Source},target=${Target},bind-propagation=rprivate${ReadOnly ? ',readonly' : ''}`;

const each = (flag: string, values: readonly string[] = []): string[] => values.flatMap((value) => [flag, value]);

const given = (flag: string, value: string | number | undefined): string[] =>
  value === undefined ? [] : [`${flag}=${value}`];

const whole = (flag: string, on: boolean | undefined): string[] => (on === true ? [flag] : []);

const limitArguments = (host: HostConfig): string[] => [
  ...given('--memory', host.Memory),
  ...given('--memory-swap', host.MemorySwap),
  ...given('--cpus', host.NanoCpus === undefined ? undefined : host.NanoCpus / 1e9),
  ...given('--pids-limit', host.PidsLimit),
  ...given('--oom-score-adj', host.OomScoreAdj),
  ...each(
    '--ulimit',
    host.Ulimits?.map(({ Name, Soft, Hard }) => `${Name}=${Soft}:${Hard}`),
  ),
];

const hostArguments = (host: HostConfig & { CgroupnsMode?: string }, seccompPath: string): string[] => [
  ...whole('--init', host.Init),
  ...whole('--read-only', host.ReadonlyRootfs),
  ...given('--network', host.NetworkMode),
  ...given('--ipc', host.IpcMode),
  ...given('--cgroupns', host.CgroupnsMode),
  ...given('--log-driver', host.LogConfig?.Type),
  ...each('--cap-drop', host.CapDrop),
  ...each(
    '--security-opt',
    host.SecurityOpt?.map((option: string) => (option.startsWith(SECCOMP) ? `${SECCOMP}${seccompPath}` : option)),
  ),
  ...each('--mount', host.Mounts?.map(mountArgument)),
  ...each(
    '--tmpfs',
    Object.entries(host.Tmpfs ?? {}).map(([path, options]) => `${path}:${options}`),
  ),
  ...limitArguments(host),
];

/** The profile in `SecurityOpt`; null: none of our own. */
export const seccompProfile = (options: ContainerCreateOptions): string | null => {
  const option = options.HostConfig?.SecurityOpt?.find((one: string) => one.startsWith(SECCOMP));
  return option === undefined ? null : option.slice(SECCOMP.length);
};

/** What comes between `docker run` (or `docker create`) and the command. */
export const dockerRunArguments = (options: ContainerCreateOptions, seccompPath: string): string[] => [
  '--interactive',
  '--no-healthcheck',
  ...given('--user', options.User),
  ...given('--workdir', options.WorkingDir),
  ...given('--hostname', options.Hostname),
  ...given('--stop-timeout', options.StopTimeout),
  ...each('--env', options.Env),
  ...each(
    '--label',
    Object.entries(options.Labels ?? {}).map(([name, value]) => `${name}=${value}`),
  ),
  ...hostArguments(options.HostConfig ?? {}, seccompPath),
  options.Image ?? '',
];
