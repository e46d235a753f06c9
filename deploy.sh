#!/usr/bin/env bash
# Sets TierClaw up on this machine, starts its supervisor and sends one message through each trust tier.
#
#   ./deploy.sh [--home DIR] [--help]
#
# It finds or starts a Docker Engine, installs, builds, makes the agent image and a home with defaults (a home that
# exists keeps its files), restarts the supervisor in the background, and prints the three replies. The home is DIR,
# else TIERCLAW_HOME, else this checkout. It can be run again at any time.
set -euo pipefail
# shellcheck source=scripts/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/scripts/common.sh"

readonly SELF=${BASH_SOURCE[0]}
readonly GROUPS_ASKED=(main friends lobby)
readonly MESSAGE='run: id -u; ls /workspace'
readonly STEPS=6

STEP=0
REPLIES=

tierclaw() {
  "$ROOT/scripts/tierclaw" "$@"
}

# step TITLE COMMAND… — one numbered step with its seconds; a failure is named and ends the script.
# A command here is a program or one && chain: `set -e` is off inside of it.
step() {
  local title=$1 begun=$SECONDS status=0
  shift
  STEP=$((STEP + 1))
  printf '\n[%d/%d] %s\n' "$STEP" "$STEPS" "$title"
  "$@" || status=$?
  if ((status == 0)); then
    printf '      done in %d s\n' $((SECONDS - begun))
    return 0
  fi
  die deploy "failed in step $STEP of $STEPS, $title (exit status $status; its message is above)" \
    'Mend what it says, then run ./deploy.sh again: what is done stays done.'
}

restart_supervisor() {
  tierclaw down && tierclaw up --detach
}

ask() {
  printf '      %s: %s\n' "$1" "$MESSAGE"
  tierclaw chat --group "$1" --once "$MESSAGE" --json >"$REPLIES/$1.json"
}

ask_all() {
  local group
  for group in "${GROUPS_ASKED[@]}"; do ask "$group" || return; done
}

print_replies() {
  local files=() group
  for group in "${GROUPS_ASKED[@]}"; do files+=("$group=$REPLIES/$group.json"); done
  node "$ROOT/scripts/replies.mjs" "${files[@]}"
}

hint() {
  printf '  %-32s %s\n' "$1" "$2"
}

next_steps() {
  printf '\nTierClaw runs. Where to go next, with tierclaw on the PATH\n'
  printf '(once: ln -s %q /usr/local/bin/tierclaw)' "$ROOT/scripts/tierclaw"
  if [[ -n ${TIERCLAW_HOME:-} ]]; then printf ' and export TIERCLAW_HOME=%q' "$TIERCLAW_HOME"; fi
  printf ':\n'
  hint 'tierclaw chat' 'talk in the main group; --group friends or lobby for the others'
  hint 'tierclaw plan --tier untrusted' "what a tier's containers get"
  hint 'tierclaw status' 'supervisor, engine, provider, turns'
  hint 'tierclaw logs' 'what happened'
  hint 'tierclaw down' 'stop it'
  hint 'README.md' 'everything else'
}

parse() {
  while (($# > 0)); do
    case $1 in
      --home)
        [[ -n ${2:-} ]] || die deploy '--home wants a directory'
        TIERCLAW_HOME=$(realpath -m -- "$2")
        export TIERCLAW_HOME
        shift
        ;;
      --help | -h) usage "$SELF" && exit 0 ;;
      *) die deploy "unknown option $1; see ./deploy.sh --help" ;;
    esac
    shift
  done
}

main() {
  parse "$@"
  REPLIES=$(mktemp -d)
  trap 'rm -rf "$REPLIES"' EXIT
  exec </dev/null
  step 'tools, packages, bundles, engine, base image' "$ROOT/scripts/setup.sh"
  step 'home' tierclaw init
  step 'agent image' tierclaw image build
  step 'supervisor' restart_supervisor
  step 'one message through each tier' ask_all
  step 'replies' print_replies
  next_steps
}

main "$@"
