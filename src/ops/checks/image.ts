/** Checks of the agent image: built, there, of the sources as they are, on a base that isn't old. */
import { type Check, type ExaminedImage, type Finding, failure, failureOf, good, ifKnown, warning } from '../doctor.ts';

const BUILD = 'tierclaw image build';
const DAY_MS = 24 * 3600 * 1000;
/** Debian's security updates come weekly; a quarter of them is a lot to miss. */
const BASE_DAYS_MAX = 90;

export const judgeImage = ({ tag, found, current }: ExaminedImage): Finding => {
  if (found === null) return failure(`the engine has no image ${tag}; no turn starts`, BUILD);
  if (!current.ok) return warning(`${tag} is there, but could not be built again: ${current.error.message}`, BUILD);
  if (current.value.tag === tag) return good(tag);
  return warning(`${tag} was made of other sources, another base or another uid than there are now`, BUILD);
};

export const judgeBase = ({ current }: ExaminedImage, nowMs: number): Finding => {
  if (!current.ok) return warning(current.error.message, current.error.hint ?? './scripts/base-image.sh');
  const { base, baseCreatedAt } = current.value;
  const days = (nowMs - Date.parse(baseCreatedAt ?? '')) / DAY_MS;
  if (!Number.isFinite(days)) return warning(`${base}: the engine doesn’t say how old it is`, `docker inspect ${base}`);
  const age = `${base}, ${Math.max(0, Math.floor(days))} days old`;
  if (days <= BASE_DAYS_MAX) return good(age);
  return warning(`${age}: security updates are missing`, `./scripts/base-image.sh, then: ${BUILD}`);
};

export const imageChecks: readonly Check[] = [
  {
    id: 'image',
    title: 'agent image',
    // Where the engine answers, what could not be learnt of the image is the image's own failure.
    run: ({ engine, image }) => (engine.ok && !image.ok ? failureOf(image.error) : ifKnown(image, judgeImage)),
  },
  {
    id: 'base-image',
    title: 'base image',
    run: ({ image, nowMs }) => ifKnown(image, (found) => judgeBase(found, nowMs)),
  },
];
