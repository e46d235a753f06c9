#!/usr/bin/env bash
# What deploy.sh and scripts/test.sh need before anything else: tools, packages, bundles, an engine, the base image.
#
#   scripts/setup.sh [--no-engine] [--help]
#
# Every step looks first and does only what is missing, so it can be run again at any time. With --no-engine it stops
# after the bundles.
set -euo pipefail
# shellcheck source=scripts/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

readonly SELF=${BASH_SOURCE[0]}
readonly TOOLS=(g++ make python3)

check_node() {
  local version
  command -v node >/dev/null || die setup 'Node 20.19 or newer is needed: https://nodejs.org/en/download'
  version=$(node -p process.versions.node)
  node -e 'const [a, b] = process.versions.node.split(".").map(Number); process.exit(a > 20 || (a === 20 && b >= 19) ? 0 : 1)' ||
    die setup "this is Node $version, and 20.19 or newer is needed: https://nodejs.org/en/download"
  command -v npm >/dev/null || die setup 'npm is needed; it comes with Node: https://nodejs.org/en/download'
  say setup "Node $version"
}

# better-sqlite3 is compiled where no ready binary can be had.
need_tools() {
  local missing=() tool
  for tool in "${TOOLS[@]}"; do command -v "$tool" >/dev/null || missing+=("$tool"); done
  if ((${#missing[@]} == 0)); then return 0; fi
  is_debian || die setup "${missing[*]} must be installed, to compile better-sqlite3"
  is_root || die setup "${missing[*]} must be installed, to compile better-sqlite3." \
    "Run once: sudo apt-get update && sudo apt-get install -y ${TOOLS[*]}"
  apt_install setup "${missing[@]}"
}

# The compiler needs the headers of the very Node that runs; most Nodes bring them, and else npm fetches them.
use_own_headers() {
  local prefix header
  prefix=$(node -p 'path.resolve(process.execPath, "../..")')
  header=$prefix/include/node/node_version.h
  [[ -z ${npm_config_nodedir:-} && -e $header ]] || return 0
  if [[ $(header_version "$header") == "$(node -p process.versions.node)" ]]; then export npm_config_nodedir=$prefix; fi
}

header_version() {
  awk '/^#define NODE_(MAJOR|MINOR|PATCH)_VERSION / { version = version dot $3; dot = "." } END { print version }' "$1"
}

install_packages() {
  local why
  if why=$(node "$ROOT/scripts/installed.mjs" 2>&1); then
    say setup 'packages are as the lockfile says'
    return 0
  fi
  need_tools
  use_own_headers
  say setup "npm ci ($why)"
  (cd "$ROOT" && npm ci --no-audit --no-fund --loglevel=error </dev/null >&2) || die setup 'npm ci failed (see above)'
  why=$(node "$ROOT/scripts/installed.mjs" 2>&1) || die setup "the installation isn't usable: $why"
}

main() {
  local engine=yes
  case ${1:-} in
    '') ;;
    --no-engine) engine=no ;;
    --help | -h) usage "$SELF" && exit 0 ;;
    *) die setup "unknown option $1; see scripts/setup.sh --help" ;;
  esac
  check_node
  install_packages
  node "$ROOT/scripts/build.mjs" >&2
  if [[ $engine == no ]]; then return 0; fi
  "$ROOT/scripts/engine.sh"
  "$ROOT/scripts/base-image.sh"
}

main "$@"
