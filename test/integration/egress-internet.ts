/** A small internet on loopback: a web site, a Git host, a package index and a registry, over TLS of their own authority. */
import { execFile, spawn } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer as createHttpServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { type AddressInfo, connect } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { crc32 } from 'node:zlib';
import type { NetworkDoors } from '../../src/gateway/egress-doors.ts';

const run = promisify(execFile);

/** Public-looking; whatever is dialled goes to loopback. */
const ADDRESS = '93.184.216.34';
const SITES = ['web.example.net', 'git.example.net', 'pypi.example.net', 'npm.example.net'];
/** Names that lead to where nobody may go. */
const TRAPS: Readonly<Record<string, readonly string[]>> = {
  'private.example.net': ['10.1.2.3'],
  'loopback.example.net': ['127.0.0.1'],
  'metadata.example.net': ['169.254.169.254'],
  'mixed.example.net': [ADDRESS, '192.168.1.1'],
};

export interface Internet {
  readonly network: NetworkDoors;
  readonly dialled: readonly string[];
  /** The authority's certificate, PEM. */
  readonly authority: string;
  close(): void;
}

const makeCertificate = async (directory: string): Promise<{ key: string; cert: string }> => {
  const [key, cert] = [join(directory, 'key.pem'), join(directory, 'cert.pem')];
  const names = SITES.map((site) => `DNS:${site}`).join(',');
  const about = ['-subj', '/CN=stand-in', '-addext', `subjectAltName=${names}`, '-days', '2'];
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  await run('openssl', ['req', '-x509', ...curve, ...about, '-keyout', key, '-out', cert]);
  return { key: await readFile(key, 'utf8'), cert: await readFile(cert, 'utf8') };
};

const makeRepository = async (directory: string): Promise<string> => {
  const work = join(directory, 'work');
  const git = (...args: string[]) =>
    run('git', ['-c', 'user.name=a', '-c', 'user.email=a@example.net', '-C', work, ...args]);
  await run('git', ['init', '-q', work]);
  await writeFile(join(work, 'file.txt'), 'from the repository\n');
  await git('add', '.');
  await git('commit', '-q', '-m', 'first');
  await run('git', ['clone', '-q', '--bare', work, join(directory, 'repos', 'thing.git')]);
  return join(directory, 'repos');
};

/** Files stored as they are, in the form of a zip archive. */
const zip = (files: Readonly<Record<string, string>>): Buffer => {
  const [local, central]: [Buffer[], Buffer[]] = [[], []];
  let offset = 0;
  for (const [name, text] of Object.entries(files)) {
    const [path, data] = [Buffer.from(name), Buffer.from(text)];
    const common = Buffer.alloc(26);
    common.writeUInt16LE(20, 0);
    common.writeUInt16LE(33, 8);
    common.writeUInt32LE(crc32(data), 10);
    common.writeUInt32LE(data.length, 14);
    common.writeUInt32LE(data.length, 18);
    common.writeUInt16LE(path.length, 22);
    const tail = Buffer.alloc(14);
    tail.writeUInt32LE(offset, 10);
    local.push(Buffer.from('PK\x03\x04'), common, path, data);
    central.push(Buffer.from('PK\x01\x02\x14\x00'), common, tail, path);
    offset += 4 + common.length + path.length + data.length;
  }
  const directory = Buffer.concat(central);
  const end = Buffer.alloc(18);
  end.writeUInt16LE(Object.keys(files).length, 4);
  end.writeUInt16LE(Object.keys(files).length, 6);
  end.writeUInt32LE(directory.length, 8);
  end.writeUInt32LE(offset, 12);
  return Buffer.concat([...local, directory, Buffer.from('PK\x05\x06'), end]);
};

const WHEEL = 'tiny_thing-1.0-py3-none-any.whl';

const wheel = (): Buffer =>
  zip({
    'tiny_thing.py': 'answer = 42\n',
    'tiny_thing-1.0.dist-info/METADATA': 'Metadata-Version: 2.1\nName: tiny-thing\nVersion: 1.0\n',
    'tiny_thing-1.0.dist-info/WHEEL': 'Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n',
    'tiny_thing-1.0.dist-info/RECORD': '',
  });

const servePackages = ({ url = '' }: IncomingMessage, response: ServerResponse): void => {
  if (url === '/simple/tiny-thing/') {
    response.setHeader('content-type', 'text/html').end(`<!DOCTYPE html><a href="/files/${WHEEL}">${WHEEL}</a>`);
  } else if (url === `/files/${WHEEL}`) {
    response.end(wheel());
  } else response.writeHead(404).end();
};

const serveRegistry = ({ url }: IncomingMessage, response: ServerResponse): void => {
  if (url !== '/tiny-thing') return void response.writeHead(404).end('{}');
  const dist = { tarball: 'https://npm.example.net/tiny-thing-1.2.3.tgz', shasum: '0'.repeat(40) };
  const version = { name: 'tiny-thing', version: '1.2.3', dist };
  response.setHeader('content-type', 'application/json');
  response.end(
    JSON.stringify({ name: 'tiny-thing', 'dist-tags': { latest: '1.2.3' }, versions: { '1.2.3': version } }),
  );
};

/** `git http-backend` as the CGI program that it is. */
const serveGit =
  (root: string) =>
  (request: IncomingMessage, response: ServerResponse): void => {
    const [path = '', query = ''] = (request.url ?? '').split('?');
    const backend = spawn('git', ['http-backend'], {
      env: {
        PATH: process.env.PATH,
        GIT_PROJECT_ROOT: root,
        GIT_HTTP_EXPORT_ALL: '1',
        REQUEST_METHOD: request.method,
        PATH_INFO: path,
        QUERY_STRING: query,
        CONTENT_TYPE: request.headers['content-type'],
        HTTP_CONTENT_ENCODING: request.headers['content-encoding'] as string | undefined,
        GIT_CONFIG_COUNT: '1',
        GIT_CONFIG_KEY_0: 'safe.directory',
        GIT_CONFIG_VALUE_0: '*',
      },
    });
    request.pipe(backend.stdin);
    const chunks: Buffer[] = [];
    backend.stdout.on('data', (chunk) => chunks.push(chunk));
    backend.stdout.on('end', () => {
      const all = Buffer.concat(chunks);
      const end = all.indexOf('\r\n\r\n');
      for (const line of all.subarray(0, end).toString().split('\r\n')) {
        const [, name = '', value = ''] = /^([^:]+): (.*)$/.exec(line) ?? [];
        if (name === 'Status') response.statusCode = Number.parseInt(value, 10);
        else response.setHeader(name, value);
      }
      response.end(all.subarray(end + 4));
    });
  };

const serveWeb = ({ url }: IncomingMessage, response: ServerResponse): void => {
  if (url === '/away') return void response.writeHead(302, { location: 'http://169.254.169.254/latest/' }).end();
  if (url === '/around') return void response.writeHead(302, { location: '/around' }).end();
  response.end('hello from the web\n');
};

const listen = async (server: Server): Promise<number> => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
};

/** `directory` is the caller's, to be removed after. */
export const startInternet = async (directory: string): Promise<Internet> => {
  const certificate = await makeCertificate(directory);
  const git = serveGit(await makeRepository(directory));
  const serve = (request: IncomingMessage, response: ServerResponse) => {
    const host = request.headers.host ?? '';
    if (host.startsWith('git.')) return git(request, response);
    if (host.startsWith('pypi.')) return servePackages(request, response);
    return host.startsWith('npm.') ? serveRegistry(request, response) : serveWeb(request, response);
  };
  const servers = [createHttpServer(serve), createHttpsServer(certificate, serve)];
  const [http = 0, https = 0] = await Promise.all(servers.map(listen));
  const dialled: string[] = [];
  return {
    dialled,
    authority: certificate.cert,
    network: {
      resolve: async (host) => {
        const known = SITES.includes(host) ? [ADDRESS] : TRAPS[host];
        if (known === undefined) throw new Error(`ENOTFOUND ${host}`);
        return known;
      },
      dial: ({ address, port }) => {
        dialled.push(`${address}:${port}`);
        return connect({ host: '127.0.0.1', port: port === 443 ? https : http, allowHalfOpen: true });
      },
    },
    close: () => {
      for (const server of servers) {
        server.closeAllConnections();
        server.close();
      }
    },
  };
};
