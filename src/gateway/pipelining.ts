/**
 * One request at a time on a connection. The answer to a pipelined request has no connection until its turn comes, and
 * nothing tells it that the client is gone: it would hold hosts, places and the end of the session, maybe for ever.
 */
import type { ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';

export interface Pipelining {
  /** Ends a connection whose last request isn't answered yet: true. A client that pipelines asks again on another. */
  isRefused(socket: Duplex): boolean;
  /** A request that this will answer has come. */
  note(socket: Duplex, response: ServerResponse): void;
}

/** `onRefused` is called once for a connection. */
export const createPipelining = (onRefused: (reason: string) => void): Pipelining => {
  const last = new WeakMap<Duplex, ServerResponse>();
  return {
    isRefused: (socket) => {
      if (last.get(socket)?.writableFinished !== false) return false;
      if (!socket.destroyed) onRefused('a request came before the last one was answered');
      socket.destroy();
      return true;
    },
    note: (socket, response) => void last.set(socket, response),
  };
};
