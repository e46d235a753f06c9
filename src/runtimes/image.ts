/**
 * The agent image: built from the Dockerfile and the bundled programs alone, and named by what went into it, so that an
 * image by that name is the image, and an unchanged one is never built again.
 */
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import tar from 'tar-fs';
import { z } from 'zod';
import { AppError, isErrno } from '../errors.ts';
import { withDeadline } from './docker-calls.ts';
import { type Engine, engineError, engineSays, engineStatus } from './engine.ts';

const REPOSITORY = 'tierclaw-agent';
/** Looked for in this order: what scripts/base-image.sh names, then the public image that it pulls where it can. */
const DEFAULT_BASES = ['tierclaw-base:latest', 'node:24-bookworm-slim'] as const;

/** A first build installs packages over a slow network. */
const BUILD_DEADLINE_MS = 30 * 60_000;
/** Lines of a failed build that the error quotes. */
const QUOTED_LINES = 15;

/** What the image is made of, below the package's root. */
type ContextFile = 'container/Dockerfile' | 'dist/runner.mjs' | 'dist/web-fetch.mjs';

export interface ImageInputs {
  readonly dockerfile: Buffer;
  readonly runner: Buffer;
  readonly webFetch: Buffer;
  /** The engine's id of the base image, `sha256:…`. */
  readonly baseId: string;
  readonly uid: number;
}

/** `tierclaw-agent:<16 hex>`, a digest over everything that goes into the image. Pure. */
export const imageTag = (inputs: ImageInputs): string => {
  const hash = createHash('sha256');
  const { dockerfile, runner, webFetch, baseId, uid } = inputs;
  for (const part of [dockerfile, runner, webFetch, Buffer.from(baseId), Buffer.from(String(uid))]) {
    // The length parts the pieces: a byte that moves from one into the next is another image.
    hash.update(`${part.length}:`).update(part);
  }
  return `${REPOSITORY}:${hash.digest('hex').slice(0, 16)}`;
};

const Inspected = z.object({ Id: z.string().min(1), Created: z.string().nullish() });

export interface FoundImage {
  /** `sha256:…`. */
  readonly id: string;
  /** ISO 8601; null: the engine doesn't say. */
  readonly createdAt: string | null;
}

/** null where the engine has no image by that name. */
export const findImage = async (engine: Engine, name: string): Promise<FoundImage | null> => {
  try {
    const { Id, Created } = Inspected.parse(await engine.quick.getImage(name).inspect());
    return { id: Id, createdAt: Created ?? null };
  } catch (thrown) {
    if (engineStatus(thrown) === 404) return null;
    throw engineError(engine, `look for image ${name}`, thrown);
  }
};

export interface Base extends FoundImage {
  readonly name: string;
}

const findBase = async (engine: Engine, wanted: string | undefined): Promise<Base> => {
  const candidates = wanted === undefined ? DEFAULT_BASES : [wanted];
  for (const name of candidates) {
    const found = await findImage(engine, name);
    if (found !== null) return { name, ...found };
  }
  throw new AppError({
    code: 'image',
    message: `the engine has no base image to build on; looked for: ${candidates.join(', ')}`,
    hint: './scripts/base-image.sh',
  });
};

const contextFile = async (root: string, file: ContextFile): Promise<Buffer> => {
  try {
    return await readFile(join(root, file));
  } catch (thrown) {
    if (!isErrno(thrown, 'ENOENT')) throw thrown;
    throw new AppError({
      code: 'image',
      message: `the image can’t be built: ${join(root, file)} is missing`,
      hint: 'npm run build',
      cause: thrown,
    });
  }
};

/** Owner, mode and time are fixed, so that the engine's build cache sees the same files on every machine. */
const ENTRY = { uid: 0, gid: 0, mode: 0o444, mtime: new Date(0) } as const;

/** The build context: exactly the bytes that the tag was computed from, whatever has become of the files since. */
const packContext = (inputs: ImageInputs, root: string): NodeJS.ReadableStream =>
  Readable.from(
    tar.pack(root, {
      entries: [],
      finalize: false,
      finish: (pack) => {
        pack.entry({ ...ENTRY, name: 'Dockerfile' }, inputs.dockerfile);
        pack.entry({ ...ENTRY, name: 'runner.mjs' }, inputs.runner);
        pack.entry({ ...ENTRY, name: 'web-fetch.mjs' }, inputs.webFetch);
        pack.finalize();
      },
    }),
  );

const Progress = z.object({ stream: z.string().optional(), error: z.string().optional() });

export interface BuildRequest {
  readonly engine: Engine;
  /** The base image's name; left out: `tierclaw-base:latest`, else `node:24-bookworm-slim`. */
  readonly base?: string | undefined;
  /** The user of the container's processes. */
  readonly uid: number;
  /** The package's root: holds `container/Dockerfile`, `dist/runner.mjs` and `dist/web-fetch.mjs`. */
  readonly root: string;
  /** Told each line of the engine's output. */
  readonly onProgress?: ((line: string) => void) | undefined;
}

const buildError = (tag: string, reason: string, lines: readonly string[]): AppError =>
  new AppError({
    code: 'image',
    message: [`building ${tag} failed: ${reason.trim()}`, ...lines].join('\n'),
    hint: 'tierclaw image build, once the cause is mended',
  });

/** Reads the engine's account of the build; throws AppError `image` with its last lines where it failed. */
const followBuild = async (output: NodeJS.ReadableStream, tag: string, request: BuildRequest): Promise<void> => {
  const last: string[] = [];
  let pending = '';
  const take = (text: string): void => {
    // A piece of the account may be several lines, or the beginning of one.
    const lines = (pending + text).split('\n');
    pending = lines.pop() ?? '';
    for (const line of lines.map((each) => each.trimEnd()).filter((each) => each !== '')) {
      last.push(line);
      if (last.length > QUOTED_LINES) last.shift();
      request.onProgress?.(line);
    }
  };
  for await (const json of createInterface({ input: output })) {
    if (json.trim() === '') continue;
    const progress = Progress.parse(JSON.parse(json));
    take(progress.stream ?? '');
    if (progress.error === undefined) continue;
    take('\n');
    throw buildError(tag, progress.error, last);
  }
  take('\n');
};

const build = async (request: BuildRequest, inputs: ImageInputs, base: Base): Promise<void> => {
  const { engine, root, uid } = request;
  const tag = imageTag(inputs);
  try {
    await withDeadline(BUILD_DEADLINE_MS, async (abortSignal) => {
      const output = await engine.patient.buildImage(packContext(inputs, root), {
        t: tag,
        buildargs: { BASE: base.name, UID: String(uid) },
        // Steps that install packages need the machine's own way out; a failed one must leave no container behind.
        networkmode: 'host',
        forcerm: true,
        abortSignal,
      });
      await followBuild(output, tag, request);
    });
  } catch (thrown) {
    if (thrown instanceof AppError) throw thrown;
    if (engineStatus(thrown) !== undefined) throw buildError(tag, engineSays(thrown), []);
    throw engineError(engine, `build ${tag}`, thrown);
  }
  if ((await findImage(engine, tag)) === null) throw buildError(tag, 'the engine made no image by that name', []);
};

/** What an image of that request is made of, as the files and the base are now. Throws as `ensureImage` does. */
export const currentInputs = async (
  request: BuildRequest,
): Promise<{ readonly inputs: ImageInputs; readonly base: Base }> => {
  const [dockerfile, runner, webFetch, base] = await Promise.all([
    contextFile(request.root, 'container/Dockerfile'),
    contextFile(request.root, 'dist/runner.mjs'),
    contextFile(request.root, 'dist/web-fetch.mjs'),
    findBase(request.engine, request.base),
  ]);
  return { inputs: { dockerfile, runner, webFetch, baseId: base.id, uid: request.uid }, base };
};

/**
 * Makes sure that the agent image is there. Throws AppError `image` where the base or a file is missing or the build
 * fails (with its last lines), `engine` where the engine can't be reached.
 */
export const ensureImage = async (
  request: BuildRequest,
): Promise<{ readonly tag: string; readonly built: boolean; readonly seconds: number }> => {
  const startedMs = performance.now();
  const { inputs, base } = await currentInputs(request);
  const tag = imageTag(inputs);
  const built = (await findImage(request.engine, tag)) === null;
  if (built) await build(request, inputs, base);
  return { tag, built, seconds: (performance.now() - startedMs) / 1000 };
};
