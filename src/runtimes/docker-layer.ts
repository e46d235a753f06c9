/** The writable layer of a container's root filesystem: where it lies, and what the engine says of its size. */
import { access, constants } from 'node:fs/promises';
import { z } from 'zod';
import { withDeadline } from './docker-calls.ts';
import { type Engine, engineError } from './engine.ts';

const INSPECT_DEADLINE_MS = 20_000;
/** The engine looks at every file of the layer. */
const SIZE_DEADLINE_MS = 60_000;

const Layered = z.object({
  GraphDriver: z.object({ Data: z.record(z.string(), z.unknown()).nullish() }).nullish(),
});
const Sized = z.object({ SizeRw: z.number().nullish() });

const isReadable = async (directory: string): Promise<boolean> => {
  try {
    await access(directory, constants.R_OK | constants.X_OK);
    return true;
  } catch {
    return false; // Another user's, or on another machine: the engine is asked instead.
  }
};

/** Known for overlay file systems alone; null elsewhere, and where this process may not look into it. */
export const findLayer = async (engine: Engine, id: string): Promise<string | null> => {
  try {
    const answer = await withDeadline(INSPECT_DEADLINE_MS, (abortSignal) =>
      engine.quick.getContainer(id).inspect({ abortSignal }),
    );
    const upper = Layered.parse(answer).GraphDriver?.Data?.UpperDir;
    return typeof upper === 'string' && (await isReadable(upper)) ? upper : null;
  } catch (thrown) {
    throw engineError(engine, `inspect container ${id}`, thrown);
  }
};

export const measureLayer = async (engine: Engine, id: string): Promise<number> => {
  try {
    const answer = await withDeadline(SIZE_DEADLINE_MS, (abortSignal) => {
      // The library passes it on, though its types don't know it.
      const options = { size: true, abortSignal };
      return engine.patient.getContainer(id).inspect(options);
    });
    return Sized.parse(answer).SizeRw ?? 0;
  } catch (thrown) {
    throw engineError(engine, `measure container ${id}`, thrown);
  }
};
