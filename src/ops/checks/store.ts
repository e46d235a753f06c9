/** Checks of the two databases: whole, ours, of this version. */
import { type DatabaseState, inspectDatabase } from '../../store/inspect.ts';
import { type Check, type Finding, failure, good, warning } from '../doctor.ts';

const MIB = 1024 * 1024;

const judge = (name: 'state' | 'messages', file: string, state: DatabaseState): Finding => {
  switch (state.kind) {
    case 'missing':
      return warning(`there is no ${file}`, 'tierclaw init');
    case 'damaged':
      return failure(`${file} is damaged: ${state.why}`, `tierclaw down, then: tierclaw db restore ${name}`);
    case 'foreign':
      return failure(`${file} is not a database of TierClaw’s`, 'move it away; tierclaw init makes a new one');
    case 'newer':
      return failure(
        `${file} was written by a newer version (${state.unknown.join(', ')})`,
        `run that version; or go back to this one’s last state: tierclaw db restore ${name}`,
      );
    case 'whole': {
      const pending = state.pending.length === 0 ? '' : `; ${state.pending.join(', ')} will be run at the next start`;
      return good(`whole, ${(state.bytes / MIB).toFixed(1)} MB${pending}`);
    }
    default:
      return state satisfies never;
  }
};

export const storeChecks: readonly Check[] = [
  {
    id: 'database:state',
    title: 'state database',
    run: ({ home }) => judge('state', home.stateDatabase, inspectDatabase('state', home.stateDatabase)),
  },
  {
    id: 'database:messages',
    title: 'message database',
    run: ({ home }) => judge('messages', home.messageDatabase, inspectDatabase('messages', home.messageDatabase)),
  },
];
