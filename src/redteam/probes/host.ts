/** The probes of the host's own code, in the order of the matrix. Each is one file, `host-<what>.ts`. */
import type { HostProbe } from '../probe.ts';
import { hostAnswerLinks } from './host-answer-links.ts';
import { hostCleanup } from './host-cleanup.ts';
import { hostDirectoriesReplaced } from './host-directories-replaced.ts';
import { hostFillInbox } from './host-fill-inbox.ts';
import { hostForeignChat } from './host-foreign-chat.ts';
import { hostForgedSender } from './host-forged-sender.ts';
import { hostFrameCostly } from './host-frame-costly.ts';
import { hostFrameFlood } from './host-frame-flood.ts';
import { hostFrameForged } from './host-frame-forged.ts';
import { hostFrameLine } from './host-frame-line.ts';
import { hostFrameTranscript } from './host-frame-transcript.ts';
import { hostInspect } from './host-inspect.ts';
import { hostInstructionsLinks } from './host-instructions-links.ts';
import { hostInternalText } from './host-internal-text.ts';
import { hostLateSocket } from './host-late-socket.ts';
import { hostLingering } from './host-lingering.ts';
import { hostManageRequests } from './host-manage-requests.ts';
import { hostOtherSocket } from './host-other-socket.ts';
import { hostPromotionByWords } from './host-promotion-by-words.ts';
import { hostPromptMarkup } from './host-prompt-markup.ts';
import { hostQuarantineFlood } from './host-quarantine-flood.ts';
import { hostRequestFlood } from './host-request-flood.ts';
import { hostRequestHardLinks } from './host-request-hard-links.ts';
import { hostRequestIds } from './host-request-ids.ts';
import { hostRequestJson } from './host-request-json.ts';
import { hostRequestLinks } from './host-request-links.ts';
import { hostRequestNames } from './host-request-names.ts';
import { hostRequestRace } from './host-request-race.ts';
import { hostRequestReplay } from './host-request-replay.ts';
import { hostRequestSize } from './host-request-size.ts';
import { hostRequestSpecial } from './host-request-special.ts';
import { hostRunnerKilled } from './host-runner-killed.ts';
import { hostScheduleRequests } from './host-schedule-requests.ts';
import { hostSendFileFlood } from './host-send-file-flood.ts';
import { hostSendFileLinks } from './host-send-file-links.ts';
import { hostSendFilePaths } from './host-send-file-paths.ts';
import { hostSendFileRace } from './host-send-file-race.ts';
import { hostStderrFlood } from './host-stderr-flood.ts';
import { hostStdoutFlood } from './host-stdout-flood.ts';
import { hostUnknownChat } from './host-unknown-chat.ts';
import { hostUpstreamEndless } from './host-upstream-endless.ts';
import { hostUpstreamRedirect } from './host-upstream-redirect.ts';

export const HOST_PROBES: readonly HostProbe[] = [
  hostAnswerLinks,
  hostCleanup,
  hostDirectoriesReplaced,
  hostFillInbox,
  hostForeignChat,
  hostForgedSender,
  hostFrameCostly,
  hostFrameFlood,
  hostFrameForged,
  hostFrameLine,
  hostFrameTranscript,
  hostInspect,
  hostInstructionsLinks,
  hostInternalText,
  hostLateSocket,
  hostLingering,
  hostManageRequests,
  hostOtherSocket,
  hostPromotionByWords,
  hostPromptMarkup,
  hostQuarantineFlood,
  hostRequestFlood,
  hostRequestHardLinks,
  hostRequestIds,
  hostRequestJson,
  hostRequestLinks,
  hostRequestNames,
  hostRequestRace,
  hostRequestReplay,
  hostRequestSize,
  hostRequestSpecial,
  hostRunnerKilled,
  hostScheduleRequests,
  hostSendFileFlood,
  hostSendFileLinks,
  hostSendFilePaths,
  hostSendFileRace,
  hostStderrFlood,
  hostStdoutFlood,
  hostUnknownChat,
  hostUpstreamEndless,
  hostUpstreamRedirect,
];
