/** Checks of the container engine: reachable, on this machine, new enough, and one that keeps the limits it is given. */
import { release } from 'node:os';
import type { PlannedLimits } from '../../domain/plan.ts';
import type { EngineReport } from '../../runtimes/runtime.ts';
import { type Check, type Examined, type Finding, failure, failureOf, good, ifKnown, warning } from '../doctor.ts';
import { openEscapes } from './runc.ts';

/** Private cgroup namespaces came with it (engine 20.10). */
const API_LEAST = '1.41';

const checkEngine = ({ engine, engineSocket }: Examined): Finding => {
  if (!engine.ok) return failureOf(engine.error);
  const { name, version, machine } = engine.value;
  const system = machine.operatingSystem === null ? '' : ` on ${machine.operatingSystem}`;
  return good(`${name} ${version}${system}, ${engineSocket.ok ? engineSocket.value : ''}`);
};

const isBelow = (found: string, least: string): boolean => {
  const [a = 0, b = 0] = found.split('.').map(Number);
  const [c = 0, d = 0] = least.split('.').map(Number);
  return a < c || (a === c && b < d);
};

export const judgeApi = ({ apiVersion }: EngineReport): Finding =>
  isBelow(apiVersion, API_LEAST)
    ? failure(
        `API ${apiVersion}; private cgroup namespaces need ${API_LEAST}`,
        'update the engine to 20.10 or newer: ./scripts/engine.sh',
      )
    : good(apiVersion);

const VIRTUAL = /docker desktop|orbstack|colima|rancher|podman machine|lima|linuxkit/i;

/** A socket or a mount of this machine doesn't exist for an engine in another one, however near. */
export const judgePlace = ({ machine, name }: EngineReport, kernel: string): Finding => {
  const words = [name, machine.operatingSystem ?? '', machine.kernel ?? ''];
  const isVirtual = words.some((word) => VIRTUAL.test(word));
  if (!isVirtual && (machine.kernel === null || machine.kernel === kernel)) return good('the same machine as this');
  const found = `the engine runs in another machine (${words.filter((word) => word !== '').join(', ')}; here: ${kernel}): the gateway’s sockets can’t be carried into its containers`;
  return failure(found, 'run the supervisor inside that machine, or use an engine of this one: ./scripts/engine.sh');
};

/** As the engine's create warnings are read: swap counts only where there is a memory limit to go with it. */
const reliesOn = (limits: PlannedLimits, field: string): boolean => {
  if (field === 'swap') return !limits.swap && limits.memoryBytes !== null;
  const found = Object.entries(limits).find(([name]) => name === field);
  return found !== undefined && found[1] !== null;
};

const checkLimits = ({ engine, plans }: Examined) =>
  ifKnown(engine, ({ discards }) => {
    if (discards.length === 0) return good('memory, swap, CPU and process limits are kept');
    const tiers = plans
      .map(({ plan }) => ({ tier: plan.tier, lost: discards.filter((field) => reliesOn(plan.limits, field)) }))
      .filter(({ lost }) => lost.length > 0);
    const hint =
      'enable the cgroup controllers, e.g. boot with cgroup_enable=memory swapaccount=1; see: docker info | grep WARNING';
    if (tiers.length === 0) return warning(`the engine would discard: ${discards.join(', ')} (no tier needs it)`, hint);
    const what = tiers.map(({ tier, lost }) => `${tier} (${lost.join(', ')})`).join('; ');
    return failure(`the engine would discard limits, so these turns don’t start: ${what}`, hint);
  });

export const judgeCgroup = ({ machine: { cgroupVersion } }: EngineReport): Finding =>
  cgroupVersion === null
    ? warning('the engine doesn’t say', 'docker info | grep -i cgroup')
    : good(`version ${cgroupVersion}`);

export const judgeSecurity = ({ machine: { securityOptions, storageDriver } }: EngineReport): Finding => {
  const has = (name: string): boolean => securityOptions.some((option) => option.startsWith(`name=${name}`));
  if (!has('seccomp')) {
    return failure('the engine has no seccomp: no turn starts', 'use a kernel and an engine with seccomp');
  }
  if (has('rootless') || has('userns')) {
    return warning(
      `the engine maps user ids (${securityOptions.join(' ')}): files of turns belong to other ids than planned`,
      'use an engine without rootless mode and userns-remap',
    );
  }
  return good(`seccomp, no user id mapping, storage ${storageDriver ?? 'unknown'}`);
};

export const judgeRunc = ({ machine: { runc } }: EngineReport): Finding => {
  const open = runc === null ? null : openEscapes(runc);
  if (open === null) return warning(`version not known (${runc ?? 'the engine doesn’t say'})`, 'runc --version');
  if (open.length === 0) return good(`${runc}, no known escape`);
  return warning(
    `${runc} is older than the fix of ${open.join(', ')}; the distribution may have backported it`,
    'compare with the distribution’s advisories, or update the package: apt-get install --only-upgrade runc',
  );
};

export const engineChecks: readonly Check[] = [
  { id: 'engine', title: 'engine', run: checkEngine },
  { id: 'engine-api', title: 'engine API', run: ({ engine }) => ifKnown(engine, judgeApi) },
  {
    id: 'engine-place',
    title: 'engine’s machine',
    run: ({ engine }) => ifKnown(engine, (report) => judgePlace(report, release())),
  },
  { id: 'limits', title: 'limits', run: checkLimits },
  { id: 'cgroup', title: 'cgroup', run: ({ engine }) => ifKnown(engine, judgeCgroup) },
  { id: 'engine-security', title: 'engine security', run: ({ engine }) => ifKnown(engine, judgeSecurity) },
  { id: 'runc', title: 'runc', run: ({ engine }) => ifKnown(engine, judgeRunc) },
];
