/** `tierclaw image build|show`: the agent image, and the record of which one this home's turns use. */
import { mkdir, rename, writeFile } from 'node:fs/promises';
import { loadConfig, readEnvironment } from '../config.ts';
import { AppError } from '../errors.ts';
import type { Home } from '../home.ts';
import { packageRoot } from '../package-root.ts';
import { builtImage, containerUid, imageFile, usedImages } from '../planning.ts';
import { type Engine, engineSocket, openEngine } from '../runtimes/engine.ts';
import { ensureImage } from '../runtimes/image.ts';
import type { CommandContext, CommandResult } from './context.ts';
import { isHomeMade } from './groups-find.ts';
import { putOnRecord } from './on-record.ts';
import { terminalText } from './terminal.ts';

/** More than anybody has between two rounds of clearing away. */
const FORMER_MAX = 50;

const formerImages = (home: Home, tag: string): string[] => {
  try {
    return usedImages(home)
      .filter((one) => one !== tag)
      .slice(0, FORMER_MAX);
  } catch {
    return []; // A damaged record is one to replace.
  }
};

/** Renamed into place: a supervisor that starts meanwhile reads the old record or the new one. */
const recordImage = async (home: Home, tag: string): Promise<void> => {
  const path = imageFile(home);
  await mkdir(home.data, { recursive: true, mode: 0o700 });
  const record = { tag, former: formerImages(home, tag) };
  await writeFile(`${path}.${process.pid}.tmp`, `${JSON.stringify(record)}\n`, { mode: 0o600 });
  await rename(`${path}.${process.pid}.tmp`, path);
};

const isRecorded = (home: Home, tag: string): boolean => {
  try {
    return builtImage(home) === tag;
  } catch {
    return false; // A damaged record is one to replace.
  }
};

const requireHome = (home: Home): void => {
  if (isHomeMade(home)) return;
  throw new AppError({ code: 'not-found', message: `there is no home at ${home.dir}`, hint: 'tierclaw init' });
};

const withEngine = async <T>(home: Home, work: (engine: Engine, uid: number) => Promise<T>): Promise<T> => {
  const config = await loadConfig(home);
  const { dockerHost } = readEnvironment();
  const engine = openEngine(engineSocket({ socketPath: config.runtime.docker.socket, dockerHost }));
  try {
    return await work(engine, containerUid(config));
  } finally {
    engine.close();
  }
};

export const buildImage = async (
  { home, screen }: CommandContext,
  base: string | undefined,
): Promise<CommandResult> => {
  requireHome(home);
  const { tag, built, seconds } = await withEngine(home, (engine, uid) =>
    ensureImage({
      engine,
      base,
      uid,
      root: packageRoot(),
      onProgress: (line) => screen.err(`${terminalText(line)}\n`),
    }),
  );
  if (!isRecorded(home, tag)) {
    await putOnRecord(home, { kind: 'image-recorded', details: { image: tag } });
    await recordImage(home, tag);
  }
  const what = built ? `built in ${seconds.toFixed(1)} s` : 'up to date';
  const next = 'a running supervisor uses it after: tierclaw down, then tierclaw up --detach';
  return { text: `image ${tag}: ${what}\n${next}`, data: { tag, built, seconds } };
};

export const showImage = async ({ home }: CommandContext): Promise<CommandResult> => {
  requireHome(home);
  const tag = builtImage(home);
  return { text: `image ${tag}`, data: { tag } };
};
