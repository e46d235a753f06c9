/** The check of the audit trail: it can be written, and its newest file is what was written. */
import { accessSync, constants } from 'node:fs';
import { trailFiles } from '../../audit/files.ts';
import { inspectTail, isUnchained } from '../../audit/tail.ts';
import { toAppError } from '../../errors.ts';
import { type Check, type Examined, type Finding, failure, failureOf, good } from '../doctor.ts';

const checkAudit = ({ home, supervisor }: Examined): Finding => {
  const files = trailFiles(home.auditFile);
  const trouble = supervisor.ok ? supervisor.value?.auditTrouble : undefined;
  if (trouble !== undefined) return failure(`no turn starts: ${trouble}`, 'tierclaw audit verify');
  if (isUnchained(files)) return good('of a version without a chain; the next start begins one');
  try {
    const judged = inspectTail(files);
    if (judged === null) return good('nothing has been recorded yet');
    accessSync(files.file, constants.R_OK | constants.W_OK);
    return good(`its newest file is whole, up to line number ${judged.last.seq}; all of it: tierclaw audit verify`);
  } catch (thrown) {
    return failureOf(toAppError(thrown));
  }
};

export const auditChecks: readonly Check[] = [{ id: 'audit', title: 'audit trail', run: checkAudit }];
