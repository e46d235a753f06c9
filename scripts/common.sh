# What the scripts share: where the checkout is, how they speak, and how they install Debian packages. Sourced, never run.
# shellcheck shell=bash

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
export DEBIAN_FRONTEND=noninteractive

# say TOPIC WORDS… — one line of progress, on stderr: what a script answers with goes to stdout.
say() {
  local topic=$1
  shift
  printf '%s: %s\n' "$topic" "$*" >&2
}

# die TOPIC LINE… — says why and ends the script.
die() {
  local topic=$1 line
  shift
  for line in "$@"; do say "$topic" "$line"; done
  exit 1
}

# usage FILE — prints the comment at the head of a script.
usage() {
  sed -n '2,/^[^#]/ s/^# \{0,1\}//p' "$1"
}

is_root() {
  [[ $(id -u) == 0 ]]
}

# is_debian — Debian, Ubuntu or one of their children.
is_debian() {
  [[ -r /etc/os-release ]] && command -v apt-get >/dev/null &&
    grep -Eq '^ID(_LIKE)?=.*(debian|ubuntu)' /etc/os-release
}

# apt_install TOPIC PACKAGE… — installs Debian packages as root; the log is shown only when it fails.
apt_install() {
  local topic=$1 log
  shift
  log=$(mktemp)
  say "$topic" "installing $*"
  if apt_get update >"$log" 2>&1 && apt_get install -y --no-install-recommends "$@" >>"$log" 2>&1; then
    rm -f "$log"
    return 0
  fi
  tail -n 20 "$log" >&2
  rm -f "$log"
  die "$topic" "apt-get couldn't install $* (its last lines are above)"
}

# Another apt-get may hold the lock (a fresh machine updates itself); it is waited for.
apt_get() {
  apt-get -q -o DPkg::Lock::Timeout=300 "$@" </dev/null
}

# api QUESTION … — asks the engine (scripts/engine-api.mjs).
api() {
  node "$ROOT/scripts/engine-api.mjs" "$@"
}
