/** The scratch home's audit trail as a probe reads it. */
import { readFile } from 'node:fs/promises';
import { isErrno } from '../errors.ts';
import type { Home } from '../home.ts';
import type { AuditLine } from './probe.ts';

const parse = (line: string): readonly AuditLine[] => {
  try {
    const value: unknown = JSON.parse(line);
    if (typeof value !== 'object' || value === null || !('kind' in value) || typeof value.kind !== 'string') return [];
    return [{ ...value, kind: value.kind }];
  } catch {
    return []; // The last line, as it is being written.
  }
};

/** Oldest first. */
export const readAudit = async (home: Home): Promise<readonly AuditLine[]> => {
  try {
    return (await readFile(home.auditFile, 'utf8')).split('\n').flatMap(parse);
  } catch (thrown) {
    if (isErrno(thrown, 'ENOENT')) return [];
    throw thrown;
  }
};
