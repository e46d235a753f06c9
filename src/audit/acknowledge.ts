/**
 * A new beginning behind a broken trail. Nothing of what is there is changed or thrown away: the broken file is kept
 * under the next number, and the first line of the new one vouches for all files before it as they are now, so that a
 * later change of them is found. To be called under the home's lock alone.
 */
import { closeSync, constants, renameSync } from 'node:fs';
import { dirname } from 'node:path';
import { sealRestart } from '../domain/audit-chain.ts';
import { append } from './append.ts';
import { judgeTrail } from './check.ts';
import {
  makeDirectory,
  nextFullFile,
  openHead,
  openRegular,
  settleHead,
  sha256,
  statOf,
  syncDirectory,
  type TrailFiles,
} from './files.ts';
import { boundedBody } from './line.ts';

const { O_APPEND, O_CREAT, O_EXCL, O_RDWR } = constants;

export interface Acknowledged {
  /** Where the file that was written lies now; null: there was none. */
  readonly keptAs: string | null;
  /** Of the line that vouches. */
  readonly seq: number;
}

const ODD = 'odd-head';

const moveAway = (files: TrailFiles): string | null => {
  if (statOf(files.file) === null) return null;
  const kept = nextFullFile(files);
  renameSync(files.file, kept);
  syncDirectory(files.directory);
  return kept;
};

/** A head that is no head says nothing, but it isn't thrown away either. */
const moveOddHead = (files: TrailFiles): void => {
  const found = statOf(files.head);
  if (found !== null && !found.isFile()) renameSync(files.head, `${files.head}.${ODD}.${found.ino}`);
};

/** `why`: the first of what was found; `at`: ISO 8601, UTC. */
export const acknowledge = (files: TrailFiles, why: string, at: string): Acknowledged => {
  makeDirectory(files);
  const { highest, head } = judgeTrail(files);
  const keptAs = moveAway(files);
  const { fold } = judgeTrail(files);
  // `earlier` stands right behind the kind: there the verifier looks for it.
  const body = boundedBody({ kind: 'audit-acknowledged', earlier: fold, why }, at);
  const sealed = sealRestart(Math.max(highest, head?.seq ?? 0), body, sha256);
  moveOddHead(files);
  const descriptor = openRegular(files.file, O_RDWR | O_APPEND | O_CREAT | O_EXCL);
  const headDescriptor = openHead(files);
  try {
    append({ descriptor, headDescriptor, size: 0, link: sealed.link, settled: 0, closed: false }, sealed, true);
  } finally {
    closeSync(descriptor);
    closeSync(headDescriptor);
  }
  settleHead(files, sealed.link);
  syncDirectory(dirname(files.file));
  return { keptAs, seq: sealed.link.seq };
};
