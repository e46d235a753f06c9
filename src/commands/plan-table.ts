/** A plan as the tables of the design: what is mounted, what is limited, what may be asked for. Pure. */
import type { SecretRef } from '../domain/credential-plan.ts';
import type { Egress } from '../domain/egress.ts';
import type { InvocationPlan, MountContent, PlannedMount } from '../domain/plan.ts';
import { ROOT_PLACE } from '../domain/quota.ts';
import { type TierLimits, type TierRights, tierRow } from '../domain/tiers.ts';
import { formatBytes, formatCount, renderTable } from './table.ts';
import { terminalLine } from './terminal.ts';

/** Every place that some tier has, in the order of the design; what a plan leaves out is shown as not mounted. */
const PLACES = [
  '/workspace/group',
  '/workspace/global',
  '/workspace/trusted',
  '/workspace/store',
  '/workspace/ipc',
  '/workspace/tiles',
  '/workspace/agent',
  '/workspace/agents',
  '/run/tierclaw',
] as const;

const NOT_MOUNTED = '–';

const CONTENT: Readonly<Record<Exclude<MountContent, 'kept'>, string>> = {
  'public-persona': 'this turn’s own, one file: SOUL-untrusted.md as SOUL.md',
  'published-store': 'whole message database, published copy',
  'filtered-store': 'message database of this chat alone, filtered copy',
  tiles: 'composed tiles',
  ipc: 'messages/ tasks/ input/ and snapshots',
  'ipc-messages': 'requests and replies to the host',
  'ipc-input': 'answers and follow-ups from the host',
  socket: 'this invocation’s gateway socket',
};

const beneathHome = (plan: InvocationPlan, source: string): string =>
  source.startsWith(`${plan.home}/`) ? source.slice(plan.home.length + 1) : source;

const describeMount = (plan: InvocationPlan, mount: PlannedMount): string[] => [
  mount.target,
  mount.mode,
  mount.content === 'kept' ? `${beneathHome(plan, mount.source)}/` : CONTENT[mount.content],
];

const isAt = (place: string, target: string): boolean => target === place || target.startsWith(`${place}/`);

const absentRow = (place: string): string[] =>
  place === '/workspace/agents' ? [`${place}/<alias>`, NOT_MOUNTED, 'no grant'] : [place, NOT_MOUNTED, 'not mounted'];

const mountRows = (plan: InvocationPlan): string[][] => [
  ['in the container', 'mode', 'what'],
  ...PLACES.flatMap((place) => {
    const mounts = plan.mounts.filter(({ target }) => isAt(place, target));
    return mounts.length === 0 ? [absentRow(place)] : mounts.map((mount) => describeMount(plan, mount));
  }),
];

const CEILING = ' (the home’s ceiling)';

const marked = (plan: InvocationPlan, field: 'memoryBytes' | 'pids' | 'wallMs', text: string): string =>
  plan.limits[field] === tierRow(plan.tier).limits[field] ? text : text + CEILING;

const orUnlimited = (value: number | null, format: (value: number) => string): string =>
  value === null ? 'unlimited' : format(value);

const TMPFS_FLAGS = 'nosuid, nodev, noexec';

const tmpText = ({ tmp }: TierLimits): string =>
  tmp === null
    ? 'part of the root filesystem'
    : `tmpfs ${formatBytes(tmp.bytes)}, ${formatCount(tmp.inodes)} inodes, ${TMPFS_FLAGS}`;

const ipcText = ({ ipcNamespace }: TierLimits): string =>
  ipcNamespace === 'none' ? 'none: no /dev/shm, /dev/mqueue read-only' : 'private';

const limitRows = (plan: InvocationPlan): string[][] => {
  const { limits } = plan;
  return [
    ['root filesystem', limits.rootfs],
    ['/tmp', tmpText(limits)],
    ['shared memory', ipcText(limits)],
    ['memory', marked(plan, 'memoryBytes', orUnlimited(limits.memoryBytes, formatBytes))],
    ['swap', limits.swap ? 'as the engine has it' : 'no swap'],
    ['CPU', orUnlimited(limits.cpus, (cpus) => `${cpus} CPU`)],
    [
      'processes',
      marked(
        plan,
        'pids',
        orUnlimited(limits.pids, (pids) => `${pids} PIDs`),
      ),
    ],
    ['largest file', orUnlimited(limits.fileBytes, formatBytes)],
    [
      'turn',
      marked(
        plan,
        'wallMs',
        orUnlimited(limits.wallMs, (ms) => `${ms / 1000} s from dispatch, hard`),
      ),
    ],
  ];
};

const quotaRows = ({ quotas }: InvocationPlan): string[][] =>
  quotas.map(({ place, bytes, files }) => [
    place === ROOT_PLACE ? '/ (writable layer)' : place,
    `${orUnlimited(bytes, formatBytes)}, ${orUnlimited(files, (count) => `${formatCount(count)} files`)}`,
  ]);

const WORDS: Readonly<Record<string, string>> = {
  true: 'yes',
  false: 'no',
  all: 'all',
  none: 'none',
  marked: 'those marked for the tier',
  'own-chat': 'own chat',
  'any-chat': 'any registered chat',
  'own-group': 'own group',
  'any-group': 'any group',
  owner: 'SOUL.md (owner identity)',
  public: 'SOUL-untrusted.md (public identity), trust warning first',
  sealed: 'sealed, gateway only',
};

const RIGHTS: Readonly<Record<keyof TierRights, string>> = {
  readsMessages: 'reads messages of',
  databaseWrite: 'writes the message database',
  mayAddress: 'may address',
  environmentCredentials: 'environment credentials',
  otherCredentials: 'other credentials',
  stagingOverrides: 'staging overrides apply',
  persona: 'persona',
  sharedMemory: 'shared memory',
  autoMemory: 'auto-memory',
  scheduleTasks: 'schedules tasks for',
  manageGroups: 'manages groups',
  subAgents: 'sub-agents',
  shell: 'shell',
  fileTools: 'file tools',
  browser: 'browser',
  network: 'network',
};

/** Decided by the tier table already, and of no use before there is something that heeds them. */
const NOT_YET: ReadonlySet<keyof TierRights> = new Set([
  'databaseWrite',
  'stagingOverrides',
  'autoMemory',
  'scheduleTasks',
  'manageGroups',
  'subAgents',
  'browser',
]);

const rightText = (field: keyof TierRights, value: TierRights[keyof TierRights]): string => {
  const text = WORDS[String(value)] ?? String(value);
  return NOT_YET.has(field) && value !== false && value !== 'none' ? `${text}, once it is built` : text;
};

const isRight = (field: string): field is keyof TierRights => Object.hasOwn(RIGHTS, field);

const rightRows = ({ rights }: InvocationPlan): string[][] =>
  Object.keys(RIGHTS)
    .filter(isRight)
    .map((field) => [RIGHTS[field], rightText(field, rights[field])]);

const HOSTS_SHOWN = 10;

const hostsText = ({ policy, allow, deny }: Egress): string => {
  if (policy === 'none') return 'nothing';
  if (policy === 'public')
    return `every public address${deny.length === 0 ? '' : `, but for ${deny.length} more ranges`}`;
  const more = allow.length > HOSTS_SHOWN ? ` and ${allow.length - HOSTS_SHOWN} more` : '';
  return allow.length === 0 ? 'nothing: the list is empty' : `${allow.slice(0, HOSTS_SHOWN).join(', ')}${more}`;
};

const networkRows = ({ egress }: InvocationPlan): string[][] => [
  ['may reach', hostsText(egress)],
  ...(egress.policy === 'none'
    ? []
    : [
        ['ports', egress.ports.join(', ')],
        ['connections', `${egress.connections} at once, ${egress.connectionsPerMinute} a minute`],
        ['a turn', `${formatBytes(egress.bytesPerTurn)}, both ways together`],
      ]),
];

const modelRows = ({ model }: InvocationPlan): string[][] => [
  ['provider', `${model.provider}, ${model.name}`],
  ['requests', `${model.requestsPerMinute} a minute, ${model.concurrent} at once`],
  ['one request', `${formatCount(model.maxTokens)} max tokens, ${formatBytes(model.bodyBytes)} body`],
  ['a day', `${orUnlimited(model.tokensPerDay, formatCount)} tokens, ${orUnlimited(model.usdPerDay, String)} USD`],
];

const whose = ({ name, agent }: SecretRef): string => (agent === null ? name : `${name} of ${agent}`);

/** Names and scopes; no value has ever been in a plan. */
const credentialRows = ({ credentials: { routes, environment } }: InvocationPlan): string[][] => {
  const rows = [
    ...routes.map((route) => [
      `/cred/${route.name}`,
      `${route.methods.join(' ')} ${new URL(route.baseUrl).host}${new URL(route.baseUrl).pathname.replace(/\/$/, '')}: ${route.pathPrefixes.join(', ')} (${whose(route.secret)})`,
    ]),
    ...environment.map(({ variable, secret }) => [variable, `in the environment (${whose(secret)})`]),
  ];
  return rows.length === 0 ? [['none']] : rows;
};

const INDENT = 2;

const section = (title: string, rows: readonly (readonly string[])[]): string =>
  `${title}\n${renderTable(rows, INDENT)}`;

/** The whole plan for a person; every list in the order in which it takes effect. */
export const renderPlan = (plan: InvocationPlan): string =>
  [
    renderTable([
      ['group', `${terminalLine(plan.group.name)} (${plan.group.id}), folder ${plan.group.folder}`],
      ['tier', plan.tier],
      ['agent', plan.agent],
      ['runs as', `uid ${plan.uid}, image ${plan.image}`],
    ]),
    section('Mounts', mountRows(plan)),
    section('Limits', limitRows(plan)),
    section('Disk quotas', quotaRows(plan)),
    section('Rights', rightRows(plan)),
    section('Network, through the gateway’s proxy', networkRows(plan)),
    section('Model', modelRows(plan)),
    section('Credentials', credentialRows(plan)),
    section(
      'Tiles, in load order',
      plan.tiles.map((tile, at) => [`${at + 1}.`, tile]),
    ),
    section('Tools', [[plan.tools.join(' ')]]),
  ].join('\n\n');
