/** Asks the turn's egress proxy for addresses that nobody may reach, in both of its forms. */

import { statusOf } from './model-request.ts';
import { held, type Kit, type Outcome, reached, WITNESS } from './probe.ts';

/** `host` as it stands in a URL or after CONNECT, brackets around IPv6 included. */
export interface Destination {
  readonly host: string;
  readonly port: number;
}

const SILENCE_MS = 3_000;

const absoluteForm = (kit: Kit, { host, port }: Destination): Promise<string> =>
  kit.exchange(
    `GET http://${host}:${port}/ HTTP/1.1\r\nhost: ${host}:${port}\r\nconnection: close\r\n\r\n`,
    SILENCE_MS,
  );

/** The service speaks first, so nothing has to be sent through the tunnel. */
const connectForm = (kit: Kit, { host, port }: Destination): Promise<string> =>
  kit.exchange(`CONNECT ${host}:${port} HTTP/1.1\r\nhost: ${host}:${port}\r\n\r\n`, SILENCE_MS);

/** Reached where the service behind an address is heard, or a tunnel to it is opened. */
export const proxied = async (kit: Kit, destinations: readonly Destination[]): Promise<Outcome> => {
  const statuses = new Set<number>();
  for (const destination of destinations) {
    const [plain, tunnel] = [await absoluteForm(kit, destination), await connectForm(kit, destination)];
    const status = statusOf(tunnel);
    if (plain.includes(WITNESS))
      return reached(`absolute-form to ${destination.host}:${destination.port} was answered`);
    if (tunnel.includes(WITNESS) || (status >= 200 && status < 300))
      return reached(`CONNECT ${destination.host}:${destination.port}: ${status}`);
    statuses.add(status).add(statusOf(plain));
  }
  return held(`${destinations.length} addresses, answered with ${[...statuses].join(', ')}`);
};
