/**
 * One invocation's requests, each to whom it is for: the model, a credential route, or the way out. What nobody is
 * there for goes to the model's session, which refuses whatever isn't a listed request of its own (404).
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';

/** What answers one kind of request of one invocation. */
export interface Route {
  /** Settles when the request is over; never rejects. */
  handle(request: IncomingMessage, response: ServerResponse): Promise<void>;
  /** Counts a refusal that was given outside of `handle`. */
  noteRefusal(reason: string): void;
  /** Aborts what is under way and waits until it is over; later requests get nothing. Idempotent. */
  abort(): Promise<void>;
}

/** A connection that asked for a tunnel; `head` is what came with the request already. */
export interface TunnelAsk {
  readonly request: IncomingMessage;
  readonly socket: Duplex;
  readonly head: Buffer;
}

export interface EgressRoute extends Route {
  /** Answers and ends, or carries bytes until either side ends. Never throws, never rejects. */
  tunnel(ask: TunnelAsk): Promise<void>;
}

export interface Routes {
  readonly model: Route;
  /** Absent: `/cred/…` is answered like any unknown path. */
  readonly credentials?: Route | undefined;
  readonly egress: EgressRoute;
}

/** `GET http://host/path`: what a client says to its proxy. Scheme and rest are the route's to judge. */
const ABSOLUTE_FORM = /^[a-z][a-z0-9+.-]*:/i;
const CREDENTIALS = /^\/cred(?:[/?]|$)/;

const routeOf = ({ model, credentials, egress }: Routes, target: string): Route => {
  if (ABSOLUTE_FORM.test(target)) return egress;
  return credentials !== undefined && CREDENTIALS.test(target) ? credentials : model;
};

/** The routes of one invocation as one. */
export const createRouter = (routes: Routes): EgressRoute => {
  const { model, credentials, egress } = routes;
  return {
    handle: (request, response) => routeOf(routes, request.url ?? '').handle(request, response),
    tunnel: egress.tunnel,
    // Bytes that never became a request were meant for nobody in particular.
    noteRefusal: model.noteRefusal,
    abort: async () => {
      await Promise.all([model.abort(), credentials?.abort(), egress.abort()]);
    },
  };
};
