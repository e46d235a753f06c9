/**
 * The few questions that the shell scripts have for a Docker Engine, asked over its unix socket with Node alone: they
 * are asked before anything is installed, and a docker client may be missing. Exit status: 0 yes, 1 no, 2 wrong use,
 * 3 an engine on another machine, 4 may not connect, 5 nothing answers.
 */
import { request } from 'node:http';
import { text } from 'node:stream/consumers';

const USAGE = `node scripts/engine-api.mjs <question>
  socket               prints the engine's socket (DOCKER_HOST, else /var/run/docker.sock)
  ping                 prints the engine's version
  id IMAGE             prints the image's id
  pull IMAGE           pulls it
  tag IMAGE REPO:TAG   gives it one more name
  import [CHANGE ...]  makes an image of the tar on stdin; prints its id
  remove IMAGE         removes it, or only this name of it
`;

const PING_TIMEOUT_MS = 5_000;
const ANSWER_TIMEOUT_MS = 120_000;
/** A registry that says nothing for so long isn't there (the engine itself gives up on a connection after 15 s). */
const PULL_SILENCE_MS = 40_000;
const PULL_TIMEOUT_MS = 600_000;
/** While the engine unpacks an imported archive it says nothing. */
const IMPORT_SILENCE_MS = 600_000;

class Stop extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

/** The socket's path; an engine elsewhere is refused. */
const engineSocket = () => {
  const host = process.env.DOCKER_HOST || 'unix:///var/run/docker.sock';
  if (host.startsWith('unix:///')) return host.slice('unix://'.length);
  throw new Stop(
    3,
    `DOCKER_HOST is ${host}: an engine over tcp or ssh can't be used, because containers get directories and sockets ` +
      `of this machine; unset it, or set it to unix:///path/to/docker.sock`,
  );
};

const connectionStop = (socketPath, error) => {
  if (error.code === 'EACCES' || error.code === 'EPERM') {
    return new Stop(4, `this user may not connect to ${socketPath}`);
  }
  return new Stop(5, `no engine answers on ${socketPath} (${error.code ?? error.message})`);
};

/** One request; resolves to the response, whatever its status. `silenceMs`: longest time without a byte. */
const ask = ({ method, path, body, type, silenceMs = ANSWER_TIMEOUT_MS, signal }) =>
  new Promise((resolve, reject) => {
    const socketPath = engineSocket();
    const headers = { host: 'docker', ...(type ? { 'content-type': type } : {}) };
    const asked = request({ socketPath, method, path, headers, signal, timeout: silenceMs }, resolve);
    asked.on('timeout', () => asked.destroy(new Error(`silent for ${silenceMs / 1000} s`)));
    asked.on('error', (error) => reject(connectionStop(socketPath, error)));
    if (body) body.pipe(asked);
    else asked.end();
  });

const failure = (body) => {
  try {
    return JSON.parse(body).message ?? body;
  } catch {
    return body; // not every proxy in front of an engine answers in JSON
  }
};

/** The answer's text; a status of 400 or more is a "no" with the engine's own words. */
const answer = async (options) => {
  const response = await ask(options);
  const body = await text(response);
  if (response.statusCode >= 400) throw new Stop(1, failure(body).trim());
  return body;
};

/** Reads a stream of progress objects; the engine reports an error of a running pull or import in there. */
const progress = async (options) => {
  const lines = (await answer(options)).split('\n').filter((line) => line.trim() !== '');
  const frames = lines.map((line) => JSON.parse(line));
  const failed = frames.find((frame) => frame.error !== undefined);
  if (failed) throw new Stop(1, failed.error);
  return frames;
};

const query = (pairs) => new URLSearchParams(pairs).toString();

/** `name` → [name, 'latest']; a colon before a slash belongs to a registry's port. */
const splitTag = (image) => {
  const colon = image.indexOf(':', image.lastIndexOf('/') + 1);
  return colon < 0 ? [image, 'latest'] : [image.slice(0, colon), image.slice(colon + 1)];
};

const QUESTIONS = {
  socket: async () => engineSocket(),
  ping: async () => {
    const version = JSON.parse(await answer({ method: 'GET', path: '/version', silenceMs: PING_TIMEOUT_MS }));
    return `${version.Version} (API ${version.ApiVersion}) on ${engineSocket()}`;
  },
  id: async ([image]) => JSON.parse(await answer({ method: 'GET', path: `/images/${image}/json` })).Id,
  pull: async ([image]) => {
    const [fromImage, tag] = splitTag(image);
    const path = `/images/create?${query({ fromImage, tag })}`;
    const signal = AbortSignal.timeout(PULL_TIMEOUT_MS);
    await progress({ method: 'POST', path, silenceMs: PULL_SILENCE_MS, signal });
    return image;
  },
  tag: async ([image, name]) => {
    const [repo, tag] = splitTag(name);
    await answer({ method: 'POST', path: `/images/${image}/tag?${query({ repo, tag })}` });
    return name;
  },
  import: async (changes) => {
    const pairs = [['fromSrc', '-'], ...changes.map((change) => ['changes', change])];
    const path = `/images/create?${query(pairs)}`;
    const options = { method: 'POST', path, type: 'application/x-tar', silenceMs: IMPORT_SILENCE_MS };
    const frames = await progress({ ...options, body: process.stdin });
    return frames.at(-1)?.status;
  },
  remove: async ([image]) => {
    await answer({ method: 'DELETE', path: `/images/${image}` });
    return image;
  },
};

const NEEDED = { id: 1, pull: 1, tag: 2, remove: 1 };

const main = async ([name, ...words]) => {
  const question = Object.hasOwn(QUESTIONS, name ?? '') ? QUESTIONS[name] : undefined;
  if (question === undefined || words.length < (NEEDED[name] ?? 0)) throw new Stop(2, USAGE);
  return question(words);
};

try {
  process.stdout.write(`${await main(process.argv.slice(2))}\n`);
} catch (error) {
  process.stderr.write(`${error.message}\n`);
  process.exitCode = error.status ?? 1;
  process.stdin.destroy(); // an archive that nobody reads would keep this process alive
}
