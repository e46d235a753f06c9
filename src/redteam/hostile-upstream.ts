/** A provider that has turned hostile: what the witness answers where a prompt asks for it by name. */
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';

const MARK = 'tc-upstream-';
/** Where the redirect leads: whoever asks there has followed it. */
export const REDIRECTED = '/redirected-by-the-provider-';

export type Hostility = 'redirect' | 'endless-text' | 'compressed';

/** A prompt with this in it is answered so; `name` comes back in what is asked for later. */
export const hostilePrompt = (how: Hostility, name: string): string => `${MARK}${how}:${name};`;

const wordIn = (body: string): readonly [string, string] | null => {
  // The newest of a conversation counts.
  const words = [...body.matchAll(/tc-upstream-([a-z-]+):([\w-]+);/g)].at(-1);
  return words?.[1] === undefined || words[2] === undefined ? null : [words[1], words[2]];
};

/** Until whoever reads has had enough; never more in memory than a socket's buffer. */
const pourOut = async (response: ServerResponse, piece: string): Promise<void> => {
  while (!response.destroyed) {
    if (!response.write(piece)) await once(response, 'drain').catch(() => undefined);
  }
};

const EVENT = (type: string, more: object): string => `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`;
const MESSAGE = {
  id: 'm',
  type: 'message',
  role: 'assistant',
  model: 'x',
  content: [],
  usage: { input_tokens: 1, output_tokens: 1 },
};
const BEGINNING =
  EVENT('message_start', { message: MESSAGE }) +
  EVENT('content_block_start', { index: 0, content_block: { type: 'text', text: '' } });
const DELTA = EVENT('content_block_delta', { index: 0, delta: { type: 'text_delta', text: 'and '.repeat(250) } });

const STREAM = { 'content-type': 'text/event-stream' };

const pour = async (response: ServerResponse, first: string, piece: string): Promise<void> => {
  response.on('error', () => response.destroy());
  response.write(first);
  const closed = once(response, 'close');
  await Promise.race([pourOut(response, piece), closed]);
};

const ANSWERS: Readonly<Record<Hostility, (response: ServerResponse, name: string) => Promise<void>>> = {
  redirect: async (response, name) => void response.writeHead(307, { location: `${REDIRECTED}${name}` }).end(),
  compressed: async (response) =>
    void response.writeHead(200, { ...STREAM, 'content-encoding': 'gzip' }).end(Buffer.alloc(1000)),
  'endless-text': (response) => pour(response.writeHead(200, STREAM), BEGINNING, DELTA.repeat(50)),
};

const isHostility = (word: string): word is Hostility => Object.hasOwn(ANSWERS, word);

/** What the prompt in this body asks for; null: nothing of the kind. */
export const hostileAnswer = (body: Buffer): ((response: ServerResponse) => Promise<void>) | null => {
  const [how, name] = wordIn(body.toString('utf8')) ?? ['', ''];
  return isHostility(how) ? (response) => ANSWERS[how](response, name) : null;
};
