/** `redteam` as words and options. */
import type { Command } from 'commander';
import { TIER_NAMES } from '../domain/tiers.ts';
import { RUNTIME_NAMES } from '../redteam/probe.ts';
import { type RedteamOptions, redteam } from './redteam.ts';
import { type Choose, verb } from './words.ts';

const NOTES = `
Everything happens in a scratch home in the temporary directory, with this home's image and engine; this home's own
state is neither read nor changed. Where that can be shown, an attack is also tried where it must succeed (its control);
a probe whose control fails is broken, not held. --list says which have none, and why.

Exit status: 0 nothing is breached or broken, 6 something is.`;

export const addRedteam = (program: Command, choose: Choose): void => {
  const command = verb(program, 'redteam', 'try to break out of real containers of every tier, on this machine');
  command
    .option('-t, --tier <tier>', `only that tier: ${TIER_NAMES.join(', ')} (default: all)`)
    .option('-r, --runtime <runtime>', `what the engine runs containers with: ${RUNTIME_NAMES.join(', ')}`, 'runc')
    .option('--only <ids>', 'only these probes, by id, with commas between')
    .option('--list', 'print what each probe tries, where it must fail and why', false)
    .addHelpText('after', NOTES)
    .action((options: RedteamOptions) => choose(command, (context) => redteam(context, options)));
};
