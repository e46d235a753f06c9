/**
 * The instructions of one turn, composed in one documented order: trust warning (first line, where the persona is the
 * public one), persona, home-wide instructions, tiles' rules in load order, the group's own. Pure.
 */
import type { TierRow } from './tiers.ts';

export interface InstructionParts {
  /** Of the group's folder or the home; null: there is none. */
  readonly trustWarning: string;
  readonly persona: string;
  /** `groups/global/CLAUDE.md`; never given where the persona is public, for it may speak of private things. */
  readonly home: string | null;
  readonly rules: readonly { readonly tile: string; readonly text: string }[];
  readonly group: string | null;
}

const section = (title: string, text: string | null): string[] =>
  text === null || text.trim() === '' ? [] : [`# ${title}\n\n${text.trim()}`];

export const composeInstructions = (row: TierRow, parts: InstructionParts): string => {
  const isPublic = row.rights.persona === 'public';
  return [
    ...(isPublic ? [parts.trustWarning.trim()] : []),
    ...section('Who you are', parts.persona),
    ...section('Instructions of this home', isPublic ? null : parts.home),
    ...parts.rules.flatMap(({ tile, text }) => section(`Rules: ${tile}`, text)),
    ...section('Instructions of this group', parts.group),
  ].join('\n\n');
};
