/** The probes from inside, in the order of the matrix. Each is one file, named after its id. */
import type { InsideProbe } from '../probe.ts';
import { addressRandomisation } from './address-randomisation.ts';
import { adminTiles } from './admin-tiles.ts';
import { agentWrite } from './agent-write.ts';
import { bpf } from './bpf.ts';
import { capabilities } from './capabilities.ts';
import { cgroupFiles } from './cgroup-files.ts';
import { cgroupReleaseAgent } from './cgroup-release-agent.ts';
import { changeRoot } from './change-root.ts';
import { clone3 } from './clone3.ts';
import { corePattern } from './core-pattern.ts';
import { databaseBytes } from './database-bytes.ts';
import { databaseSchema } from './database-schema.ts';
import { databaseWrite } from './database-write.ts';
import { deviceFiles } from './device-files.ts';
import { enginePorts } from './engine-ports.ts';
import { engineSockets } from './engine-sockets.ts';
import { fileHandles } from './file-handles.ts';
import { fileSize } from './file-size.ts';
import { fillFolder } from './fill-folder.ts';
import { forkBomb } from './fork-bomb.ts';
import { gatewayAbsoluteTarget } from './gateway-absolute-target.ts';
import { gatewayConcurrency } from './gateway-concurrency.ts';
import { gatewayDotSegments } from './gateway-dot-segments.ts';
import { gatewayDoubledFields } from './gateway-doubled-fields.ts';
import { gatewayForgedCredentials } from './gateway-forged-credentials.ts';
import { gatewayHostHeader } from './gateway-host-header.ts';
import { gatewayKeyEcho } from './gateway-key-echo.ts';
import { gatewayLargeBody } from './gateway-large-body.ts';
import { gatewayLongestAnswer } from './gateway-longest-answer.ts';
import { gatewayOtherEndpoint } from './gateway-other-endpoint.ts';
import { gatewayOtherModel } from './gateway-other-model.ts';
import { gatewayOtherProvider } from './gateway-other-provider.ts';
import { gatewayProviderTools } from './gateway-provider-tools.ts';
import { gatewayRate } from './gateway-rate.ts';
import { gatewaySmuggling } from './gateway-smuggling.ts';
import { globalWrite } from './global-write.ts';
import { groupWrite } from './group-write.ts';
import { hypervisorSocket } from './hypervisor-socket.ts';
import { inputWrite } from './input-write.ts';
import { ioUring } from './io-uring.ts';
import { ipcLayout } from './ipc-layout.ts';
import { joinNamespace } from './join-namespace.ts';
import { kernelKeyrings } from './kernel-keyrings.ts';
import { kernelLog } from './kernel-log.ts';
import { kernelMemory } from './kernel-memory.ts';
import { kernelSettings } from './kernel-settings.ts';
import { killEverything } from './kill-everything.ts';
import { leftBehind } from './left-behind.ts';
import { loadModule } from './load-module.ts';
import { machineControls } from './machine-controls.ts';
import { maskedFiles } from './masked-files.ts';
import { memoryBomb } from './memory-bomb.ts';
import { memoryLimit } from './memory-limit.ts';
import { messageQueues } from './message-queues.ts';
import { mount } from './mount.ts';
import { nameQueries } from './name-queries.ts';
import { networkIcmp } from './network-icmp.ts';
import { networkInterfaces } from './network-interfaces.ts';
import { networkIpv6 } from './network-ipv6.ts';
import { networkPackets } from './network-packets.ts';
import { networkSetup } from './network-setup.ts';
import { networkTcp } from './network-tcp.ts';
import { networkUdp } from './network-udp.ts';
import { noNewPrivileges } from './no-new-privileges.ts';
import { oddSockets } from './odd-sockets.ts';
import { openFiles } from './open-files.ts';
import { otherAgentFiles } from './other-agent-files.ts';
import { otherChatsRows } from './other-chats-rows.ts';
import { otherGroupFiles } from './other-group-files.ts';
import { otherNamespaces } from './other-namespaces.ts';
import { otherProcesses } from './other-processes.ts';
import { otherSockets } from './other-sockets.ts';
import { otherWritablePlaces } from './other-writable-places.ts';
import { outOfMemoryScore } from './out-of-memory-score.ts';
import { outputFlood } from './output-flood.ts';
import { ownerPersona } from './owner-persona.ts';
import { performanceEvents } from './performance-events.ts';
import { processRoot } from './process-root.ts';
import { processorShare } from './processor-share.ts';
import { proxyHost } from './proxy-host.ts';
import { proxyLoopback } from './proxy-loopback.ts';
import { proxyMetadata } from './proxy-metadata.ts';
import { proxyNames } from './proxy-names.ts';
import { proxyPorts } from './proxy-ports.ts';
import { proxyPrivateRanges } from './proxy-private-ranges.ts';
import { proxyUserPart } from './proxy-user-part.ts';
import { raiseLimits } from './raise-limits.ts';
import { raisePriority } from './raise-priority.ts';
import { rawDisk } from './raw-disk.ts';
import { remountWritable } from './remount-writable.ts';
import { rootFilesystem } from './root-filesystem.ts';
import { rootUser } from './root-user.ts';
import { seccompFilter } from './seccomp-filter.ts';
import { secretsCommandLines } from './secrets-command-lines.ts';
import { secretsEnvironment } from './secrets-environment.ts';
import { secretsFiles } from './secrets-files.ts';
import { secretsMemory } from './secrets-memory.ts';
import { setClock } from './set-clock.ts';
import { setHostName } from './set-host-name.ts';
import { sharedMemory } from './shared-memory.ts';
import { socketDirectoryWrite } from './socket-directory-write.ts';
import { storeWrite } from './store-write.ts';
import { suidProgram } from './suid-program.ts';
import { sysrqTrigger } from './sysrq-trigger.ts';
import { systemFilesWrite } from './system-files-write.ts';
import { temporaryFiles } from './temporary-files.ts';
import { temporaryPrograms } from './temporary-programs.ts';
import { temporarySize } from './temporary-size.ts';
import { termIgnored } from './term-ignored.ts';
import { tilesWrite } from './tiles-write.ts';
import { traceProcesses } from './trace-processes.ts';
import { trustedMemory } from './trusted-memory.ts';
import { unmount } from './unmount.ts';
import { userNamespace } from './user-namespace.ts';
import { userfaultfd } from './userfaultfd.ts';
import { watchFileSystems } from './watch-file-systems.ts';
import { watchesExhausted } from './watches-exhausted.ts';
import { x32Calls } from './x32-calls.ts';

export const INSIDE_PROBES: readonly InsideProbe[] = [
  capabilities,
  secretsEnvironment,
  secretsCommandLines,
  secretsFiles,
  secretsMemory,
  noNewPrivileges,
  seccompFilter,
  rootUser,
  suidProgram,
  userNamespace,
  otherNamespaces,
  clone3,
  joinNamespace,
  mount,
  unmount,
  remountWritable,
  changeRoot,
  kernelKeyrings,
  bpf,
  performanceEvents,
  ioUring,
  userfaultfd,
  hypervisorSocket,
  oddSockets,
  traceProcesses,
  fileHandles,
  loadModule,
  setClock,
  setHostName,
  kernelLog,
  machineControls,
  addressRandomisation,
  watchFileSystems,
  x32Calls,
  raisePriority,
  raiseLimits,
  outOfMemoryScore,
  otherProcesses,
  processRoot,
  kernelMemory,
  rawDisk,
  deviceFiles,
  corePattern,
  sysrqTrigger,
  kernelSettings,
  maskedFiles,
  cgroupFiles,
  cgroupReleaseAgent,
  systemFilesWrite,
  rootFilesystem,
  socketDirectoryWrite,
  tilesWrite,
  globalWrite,
  groupWrite,
  agentWrite,
  inputWrite,
  storeWrite,
  otherWritablePlaces,
  temporarySize,
  temporaryFiles,
  temporaryPrograms,
  sharedMemory,
  messageQueues,
  fileSize,
  otherGroupFiles,
  otherAgentFiles,
  trustedMemory,
  ownerPersona,
  adminTiles,
  ipcLayout,
  otherChatsRows,
  databaseSchema,
  databaseBytes,
  databaseWrite,
  networkTcp,
  networkUdp,
  networkIcmp,
  networkIpv6,
  networkPackets,
  networkInterfaces,
  networkSetup,
  nameQueries,
  engineSockets,
  otherSockets,
  enginePorts,
  proxyLoopback,
  proxyHost,
  proxyNames,
  proxyUserPart,
  proxyMetadata,
  proxyPrivateRanges,
  proxyPorts,
  gatewayOtherProvider,
  gatewayOtherModel,
  gatewayOtherEndpoint,
  gatewayDotSegments,
  gatewayAbsoluteTarget,
  gatewayForgedCredentials,
  gatewayHostHeader,
  gatewayKeyEcho,
  gatewaySmuggling,
  gatewayLongestAnswer,
  gatewayDoubledFields,
  gatewayProviderTools,
  gatewayLargeBody,
  gatewayConcurrency,
  gatewayRate,
  forkBomb,
  memoryBomb,
  memoryLimit,
  processorShare,
  openFiles,
  watchesExhausted,
  termIgnored,
  leftBehind,
  killEverything,
  outputFlood,
  fillFolder,
];
