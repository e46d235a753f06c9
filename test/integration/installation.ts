/** A home of its own on the real engine, for integration tests: made by `init`, with the agent image, and taken down after. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import Docker from 'dockerode';
import { type App, openApp } from '../../src/app.ts';
import type { CommandContext } from '../../src/commands/context.ts';
import { buildImage } from '../../src/commands/image.ts';
import { init } from '../../src/commands/init.ts';
import { GroupId } from '../../src/domain/ids.ts';
import { LABELS } from '../../src/domain/plan.ts';
import type { NetworkDoors } from '../../src/gateway/egress-doors.ts';
import { type Home, homeAt } from '../../src/home.ts';
import type { ChatEvent } from '../../src/ops/control-protocol.ts';

export interface Installation {
  readonly home: Home;
  readonly app: App;
  readonly docker: Docker;
  /** Puts a message into the local group of that folder and waits for the end of its turn. */
  say(folder: string, text: string): Promise<Conversation>;
  events(folder: string, text: string, signal?: AbortSignal): AsyncIterable<ChatEvent>;
  /** Containers with this home's label, running or not. */
  containers(): Promise<Docker.ContainerInfo[]>;
  /** Closes the supervisor and opens it again on the same home. */
  restart(): Promise<App>;
  close(): Promise<void>;
}

export type Done = Extract<ChatEvent, { kind: 'done' }>;

export interface Conversation {
  readonly done: Done;
  readonly reply: string;
  readonly messages: readonly string[];
  readonly events: readonly ChatEvent[];
}

export interface InstallationOptions {
  /** Text of tierclaw.yaml. */
  readonly config?: string;
  /** Where the home is made; default: a new directory of its own. */
  readonly directory?: string;
  /** Text of .env. */
  readonly env?: string;
  /** Work on the home before the supervisor opens it. */
  readonly prepare?: (home: Home) => Promise<void>;
  /** Default: the machine's own. */
  readonly network?: NetworkDoors;
}

export const contextOf = (home: Home): CommandContext => ({
  home,
  json: false,
  screen: {
    out: () => {},
    err: () => {},
    output: new PassThrough(),
    input: new PassThrough(),
    isInteractive: false,
    showsProgress: false,
  },
  interruption: () => new AbortController().signal,
});

const open = async (home: Home, { network }: InstallationOptions): Promise<App> => {
  const environment = {
    home: undefined,
    dockerHost: process.env.DOCKER_HOST,
    logLevel: process.env.TEST_LOG ?? 'silent',
  };
  const app = await openApp({ homeDir: home.dir, environment, network });
  await app.start();
  return app;
};

const talk = async (events: AsyncIterable<ChatEvent>): Promise<Conversation> => {
  const all: ChatEvent[] = [];
  for await (const event of events) all.push(event);
  const done = all.find((event) => event.kind === 'done');
  if (done === undefined) throw new Error(`the turn never ended: ${JSON.stringify(all)}`);
  const messages = all.flatMap((event) => (event.kind === 'message' ? [event.text] : []));
  return { done, reply: done.reply ?? '', messages, events: all };
};

export const makeHome = async (options: InstallationOptions = {}): Promise<Home> => {
  const home = homeAt(options.directory ?? (await mkdtemp(join(tmpdir(), 'tierclaw-test-'))));
  await init(contextOf(home));
  if (options.config !== undefined) await writeFile(home.configFile, options.config);
  if (options.env !== undefined) await writeFile(home.envFile, options.env, { mode: 0o600 });
  await buildImage(contextOf(home), undefined);
  await options.prepare?.(home);
  return home;
};

export const install = async (options: InstallationOptions = {}): Promise<Installation> => {
  const home = await makeHome(options);
  const docker = new Docker();
  const life = { app: await open(home, options) };
  const events: Installation['events'] = (folder, text, signal = new AbortController().signal) =>
    life.app.supervisor.chat({ group: GroupId.parse(`local:${folder}`), text }, signal);
  return {
    home,
    get app() {
      return life.app;
    },
    docker,
    events,
    say: (folder, text) => talk(events(folder, text)),
    containers: () => docker.listContainers({ all: true, filters: { label: [`${LABELS.home}=${home.dir}`] } }),
    restart: async () => {
      await life.app.close();
      life.app = await open(home, options);
      return life.app;
    },
    close: async () => {
      await life.app.close();
      await rm(home.dir, { recursive: true, force: true });
    },
  };
};
