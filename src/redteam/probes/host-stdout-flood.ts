/** More on stdout than anybody reads. */
import { EVERY_TIER } from '../../domain/tiers.ts';
import { floodOutput } from '../host/output-flood.ts';
import { type HostProbe, noControl } from '../probe.ts';

export const hostStdoutFlood: HostProbe = {
  kind: 'host',
  id: 'host-stdout-flood',
  topic: 'limits',
  tries: 'to hold the host, or starve another chat, by printing on the runner’s stdout without end',
  why: 'the reader never pauses and never keeps: beyond 64 MiB it throws away what comes, and the turn ends (output)',
  expected: { runc: EVERY_TIER },
  control: noControl('that a flood floods needs no showing; what it costs is measured by the event loop’s lag'),
  attempt: (arena) => floodOutput(arena, 1),
};
