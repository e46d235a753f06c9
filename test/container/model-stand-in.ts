/**
 * A strict stand-in of a model provider behind the gateway's socket. It speaks the Messages API (and chat completions)
 * as a stream, plays the given replies in order, and answers 400 to a request that the real one would refuse.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { z } from 'zod';

const Block = z.looseObject({ type: z.string() });
const Message = z.strictObject({
  role: z.enum(['user', 'assistant']),
  content: z.union([z.string(), z.array(Block).min(1)]),
});
export const MessagesRequest = z.strictObject({
  model: z.string(),
  max_tokens: z.number().int().positive(),
  system: z.array(z.looseObject({ type: z.literal('text'), text: z.string() })),
  messages: z.array(Message).min(1),
  tools: z
    .array(z.strictObject({ name: z.string(), description: z.string(), input_schema: z.looseObject({}) }))
    .optional(),
  tool_choice: z.looseObject({}).optional(),
  stream: z.literal(true),
});
export type MessagesRequest = z.infer<typeof MessagesRequest>;

export type Reply =
  | { readonly text: string; readonly stop?: 'end_turn' | 'max_tokens' | 'refusal' }
  | {
      readonly text?: string;
      readonly calls: readonly { readonly id: string; readonly name: string; readonly input: unknown }[];
    }
  /** Anything else: the test writes the response itself. */
  | ((response: ServerResponse, request: MessagesRequest) => void | Promise<void>);

export interface StandIn {
  readonly requests: MessagesRequest[];
  /** Replies still to be played. */
  readonly replies: Reply[];
  close(): Promise<void>;
}

export const sse = (response: ServerResponse, event: { readonly type: string }): void => {
  if (!response.headersSent) response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
};

export const messageStart = (response: ServerResponse): void =>
  sse(response, {
    type: 'message_start',
    ...{
      message: {
        id: 'msg_1',
        type: 'message',
        role: 'assistant',
        model: 'claude-test',
        content: [],
        stop_reason: null,
        stop_sequence: null,
        usage: { input_tokens: 11, output_tokens: 1 },
      },
    },
  });

export const textBlock = (response: ServerResponse, index: number, words: string): void => {
  const block = (event: object & { type: string }): void => sse(response, { ...event, ...{ index } });
  block({ type: 'content_block_start', ...{ content_block: { type: 'text', text: '' } } });
  // Some words at a time.
  for (const piece of words.match(/.{1,8000}/gs) ?? []) {
    block({ type: 'content_block_delta', ...{ delta: { type: 'text_delta', text: piece } } });
  }
  block({ type: 'content_block_stop' });
};

const toolBlock = (
  response: ServerResponse,
  index: number,
  call: { id: string; name: string; input: unknown },
): void => {
  const block = (event: object & { type: string }): void => sse(response, { ...event, ...{ index } });
  const { id, name } = call;
  block({ type: 'content_block_start', ...{ content_block: { type: 'tool_use', id, name, input: {} } } });
  const delta = { type: 'input_json_delta', partial_json: JSON.stringify(call.input) };
  block({ type: 'content_block_delta', ...{ delta } });
  block({ type: 'content_block_stop' });
};

export const messageStop = (response: ServerResponse, reason: string): void => {
  const delta = { stop_reason: reason, stop_sequence: null };
  sse(response, { type: 'message_delta', ...{ delta, usage: { output_tokens: 7 } } });
  sse(response, { type: 'message_stop' });
  response.end();
};

const play = (reply: Reply, response: ServerResponse, request: MessagesRequest): void | Promise<void> => {
  if (typeof reply === 'function') return reply(response, request);
  messageStart(response);
  if (reply.text !== undefined) textBlock(response, 0, reply.text);
  if (!('calls' in reply)) return messageStop(response, reply.stop ?? 'end_turn');
  for (const [index, call] of reply.calls.entries()) toolBlock(response, index + 1, call);
  return messageStop(response, 'tool_use');
};

const refuse = (response: ServerResponse, status: number, message: string): void => {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ type: 'error', error: { type: 'invalid_request_error', message } }));
};

/** Every call is answered by the very next message, as the real API demands. */
const pairingProblem = ({ messages }: MessagesRequest): string | undefined => {
  if (messages[0]?.role !== 'user') return 'the first message must be from the user';
  const ids = (index: number, type: string, key: string): string[] => {
    const content = messages[index]?.content;
    return Array.isArray(content) ? content.filter((b) => b.type === type).map((b) => String(b[key])) : [];
  };
  const bad = messages.findIndex((message, index) => {
    const called = message.role === 'assistant' ? ids(index, 'tool_use', 'id') : [];
    const answered = called.length > 0 ? ids(index + 1, 'tool_result', 'tool_use_id') : [];
    return called.sort().join() !== answered.sort().join() || messages[index - 1]?.role === message.role;
  });
  return bad === -1 ? undefined : `messages.${bad}: roles or tool results out of order`;
};

const ChatRequest = z.looseObject({
  model: z.string(),
  max_tokens: z.number(),
  stream: z.literal(true),
  stream_options: z.strictObject({ include_usage: z.literal(true) }),
  messages: z.tuple([z.looseObject({ role: z.literal('system') }), z.looseObject({ role: z.literal('user') })]),
  tools: z.array(z.looseObject({ type: z.literal('function') })),
});

/** Chat completions have one reply: the model's name and how many tools it was offered. */
const answerChat = (body: string, response: ServerResponse): void => {
  const { model, tools } = ChatRequest.parse(JSON.parse(body));
  const choice = (delta: object, finish: string | null) => ({ index: 0, delta, finish_reason: finish });
  const content = `Hello from ${model}, ${tools.length} tools.`;
  const chunks = [
    { choices: [choice({ role: 'assistant', content }, null)] },
    { choices: [choice({}, 'stop')] },
    { choices: [], usage: { prompt_tokens: 5, completion_tokens: 3, total_tokens: 8 } },
  ];
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const chunk of chunks) response.write(`data: ${JSON.stringify({ id: 'c', created: 1, model, ...chunk })}\n\n`);
  response.end('data: [DONE]\n\n');
};

const answer = async (request: IncomingMessage, response: ServerResponse, state: StandIn): Promise<void> => {
  const body = await text(request);
  if (request.url === '/model/ollama/chat/completions') return answerChat(body, response);
  if (request.method !== 'POST' || request.url !== '/model/anthropic/v1/messages') {
    return refuse(response, 404, `no such path: ${request.method} ${request.url}`);
  }
  if (request.headers['x-api-key'] !== 'placeholder') return refuse(response, 401, 'where is the placeholder?');
  const parsed = MessagesRequest.safeParse(JSON.parse(body));
  if (!parsed.success) return refuse(response, 400, z.prettifyError(parsed.error));
  const problem = pairingProblem(parsed.data);
  if (problem !== undefined) return refuse(response, 400, problem);
  state.requests.push(parsed.data);
  const reply = state.replies.shift();
  if (reply === undefined) return refuse(response, 400, 'no reply left');
  await play(reply, response, parsed.data);
};

/** Listens on that socket until closed. */
export const startStandIn = async (socketPath: string, replies: readonly Reply[]): Promise<StandIn> => {
  const server: Server = createServer((request, response) => {
    answer(request, response, state).catch((thrown) => refuse(response, 500, String(thrown)));
  });
  const state: StandIn = {
    requests: [],
    replies: [...replies],
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  await new Promise<void>((resolve) => server.listen(socketPath, resolve));
  return state;
};
