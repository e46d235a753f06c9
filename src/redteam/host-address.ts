/** Where an ordinary container of this engine reaches the host: the gateway of the engine's default bridge. */
import { z } from 'zod';
import { AppError } from '../errors.ts';
import { type Engine, engineError } from '../runtimes/engine.ts';

const Bridge = z.object({
  IPAM: z.object({ Config: z.array(z.object({ Gateway: z.string().optional() })).nullable() }),
});

/** Throws AppError `engine` where there is none: then no control could show what a network gives. */
export const hostAddressOf = async (engine: Engine): Promise<string> => {
  const answer: unknown = await engine.quick
    .getNetwork('bridge')
    .inspect()
    .catch((thrown: unknown) => {
      throw engineError(engine, 'look at its default bridge', thrown);
    });
  const bridge = Bridge.parse(answer);
  const gateway = bridge.IPAM.Config?.map(({ Gateway }) => Gateway).find((address) => address?.includes('.'));
  if (gateway !== undefined) return gateway;
  throw new AppError({
    code: 'engine',
    message: 'the engine has no default bridge with an IPv4 gateway, and the controls need one',
    hint: 'the engine’s option `bridge` must not be "none" while the red team runs',
  });
};
