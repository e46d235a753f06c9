#!/usr/bin/env bash
# Makes sure that a Docker Engine of this machine answers.
#
#   scripts/engine.sh [--help]
#
# An engine that answers on DOCKER_HOST (a unix socket) or on /var/run/docker.sock is used as it is. Else, on Debian or
# Ubuntu as root, the distribution's docker.io is installed and dockerd started, with systemd or without. Everywhere
# else the script says what to install. An engine over tcp or ssh is refused. It can be run again at any time.
set -euo pipefail
# shellcheck source=scripts/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
export PATH="$PATH:/usr/sbin:/sbin"

readonly SELF=${BASH_SOURCE[0]}
readonly LOG=/var/log/dockerd.log
readonly PID_FILE=/var/run/docker.pid
readonly CONTAINERD_PID_FILE=/var/run/docker/containerd/containerd.pid
readonly LEGACY_BIN=/run/tierclaw-iptables-legacy
readonly LOCK=/run/tierclaw-engine.lock
readonly WAIT_SECONDS=60
readonly INSTALL='apt-get update && apt-get install -y --no-install-recommends docker.io iptables'

answers() {
  api ping >/dev/null 2>&1
}

# runs_as FILE NAME — the process of a pid file is alive and is that program; after a reboot its number may be another's.
runs_as() {
  local pid
  pid=$(cat "$1" 2>/dev/null) || return 1
  [[ -n $pid && $(cat "/proc/$pid/comm" 2>/dev/null) == "$2" ]]
}

systemd_runs() {
  [[ -d /run/systemd/system ]] && systemctl list-units --no-pager >/dev/null 2>&1
}

# wait_for_answer [PID] — until the engine answers, the process is gone, or the time is over.
wait_for_answer() {
  local deadline=$((SECONDS + WAIT_SECONDS))
  while ((SECONDS < deadline)); do
    answers && return 0
    if [[ -n ${1:-} ]] && ! kill -0 "$1" 2>/dev/null; then return 1; fi
    sleep 0.5
  done
  return 1
}

# dockerd believes any live process of that number to be itself, or its containerd, and gives up or waits in vain.
drop_stale_pids() {
  runs_as "$PID_FILE" dockerd || rm -f "$PID_FILE"
  runs_as "$CONTAINERD_PID_FILE" containerd || rm -f "$CONTAINERD_PID_FILE"
}

# Without an init nobody may have mounted the control groups, and without them no limit holds.
mount_cgroups() {
  grep -Eq '^[^ ]+ [^ ]+ cgroup2? ' /proc/mounts && return 0
  say engine 'mounting the control groups'
  mount -t cgroup2 cgroup2 /sys/fs/cgroup || die engine "couldn't mount cgroup2 on /sys/fs/cgroup"
}

# launch [OPTION…] — one attempt to start dockerd; its log of this attempt is left in LOG.
launch() {
  local pid
  drop_stale_pids
  : >"$LOG"
  setsid dockerd "$@" >>"$LOG" 2>&1 </dev/null 9>&- &
  pid=$!
  wait_for_answer "$pid" && return 0
  kill "$pid" 2>/dev/null || true
  wait "$pid" 2>/dev/null || true
  return 1
}

# Only this dockerd uses the older iptables; the machine's own choice stays.
launch_with_legacy_iptables() {
  command -v iptables-legacy >/dev/null || return 1
  mkdir -p "$LEGACY_BIN"
  ln -sfn "$(command -v iptables-legacy)" "$LEGACY_BIN/iptables"
  ln -sfn "$(command -v ip6tables-legacy)" "$LEGACY_BIN/ip6tables"
  PATH="$LEGACY_BIN:$PATH" launch
}

# A kernel may lack what one kind of iptables, or both, want. Agents' containers have no network and need neither.
start_dockerd() {
  mount_cgroups
  ulimit -n "$(ulimit -Hn)" # containers inherit it, and a login shell's is small
  say engine "starting dockerd (log: $LOG)"
  launch && return 0
  grep -qi iptables "$LOG" || return 1
  say engine "iptables doesn't work here, trying iptables-legacy"
  launch_with_legacy_iptables && return 0
  say engine 'nor does that; starting without a bridge: image builds can reach no network'
  launch --iptables=false --ip6tables=false --bridge=none
}

start_unit() {
  say engine 'starting docker.service'
  systemctl enable --now docker >/dev/null 2>&1 && wait_for_answer && return 0
  journalctl -u docker --no-pager -n 20 >&2 || true
  die engine "docker.service doesn't start (its last lines are above)"
}

# Two scripts may find no engine at the same time: the second one waits, and finds the engine of the first.
start() {
  exec 9>"$LOCK"
  flock 9
  answers && return 0
  if runs_as "$PID_FILE" dockerd; then
    say engine 'dockerd runs, waiting for its answer'
    wait_for_answer || die engine "dockerd (process $(cat "$PID_FILE")) doesn't answer; see $LOG, stop it, run this again"
  elif systemd_runs; then
    start_unit
  elif ! start_dockerd; then
    tail -n 20 "$LOG" >&2
    die engine "dockerd doesn't start (its last lines are above, all in $LOG)"
  fi
}

# refuse STATUS REASON — for every reason but "nothing answers", this script can't mend it.
refuse() {
  case $1 in
    3) die engine "$2" ;;
    4) die engine "$2." "Run once, then log in again: sudo usermod -aG docker $(id -un)" ;;
    5) ;;
    *) die engine "the engine answers with an error: $2" ;;
  esac
  if [[ -n ${DOCKER_HOST:-} ]]; then die engine "$2." "Start that engine, or unset DOCKER_HOST"; fi
  if ! is_debian; then die engine "$2." 'Install Docker Engine 20.10 or newer: https://docs.docker.com/engine/install/'; fi
  is_root || die engine "$2." "Run once: sudo $ROOT/scripts/engine.sh" \
    "(that is: $INSTALL, then starting dockerd), then: sudo usermod -aG docker $(id -un), and log in again"
}

main() {
  local reply status=0
  case ${1:-} in
    '') ;;
    --help | -h) usage "$SELF" && exit 0 ;;
    *) die engine "unknown option $1; see scripts/engine.sh --help" ;;
  esac
  [[ $(uname -s) == Linux ]] || die engine "only Linux is supported: containers get directories and sockets of this machine"
  reply=$(api ping 2>&1) || status=$?
  if ((status != 0)); then
    refuse "$status" "$reply"
    command -v dockerd >/dev/null || apt_install engine docker.io iptables
    start
    reply=$(api ping)
  fi
  say engine "$reply"
}

main "$@"
