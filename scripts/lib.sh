# shellcheck shell=bash disable=SC2034,SC2154  # variables come from and go to the caller
#
# Shared by the scripts in this folder; sourced, never run.
# Progress goes to stderr, so that a script's stdout is its answer and nothing else.

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
self=$(basename "$0")

say() { printf '%s: %s\n' "$self" "$*" >&2; }
die() { say "$*"; exit 1; }
have() { command -v "$1" >/dev/null 2>&1; }

# A tool that a check runs. Without it the check is skipped (77), which CI does not allow.
need() {
  have "$1" && return
  say "needs $1: run scripts/setup test"
  [ "${SANDCELL_TEST_STRICT:-}" = 1 ] && exit 1
  exit 77
}

# The comment at the top of a script is its manual: print it, without the interpreter line.
usage() { sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0"; }

# How to become root: nothing when we are, else sudo, which fails with its own words.
sudo=()
if [ "$(id -u)" -ne 0 ]; then
  sudo=(sudo)
fi

# Folders for what outlives one run. Root's are the system's, so that every checkout shares them.
if [ "$(id -u)" -eq 0 ]; then
  state_dir=${SANDCELL_STATE_DIR:-/var/lib/sandcell}
  run_dir=${SANDCELL_RUN_DIR:-/run/sandcell}
else
  state_dir=${SANDCELL_STATE_DIR:-${XDG_STATE_HOME:-$HOME/.local/state}/sandcell}
  run_dir=${SANDCELL_RUN_DIR:-${XDG_RUNTIME_DIR:-/tmp/sandcell-$(id -u)}/sandcell}
fi
cache_dir=${SANDCELL_CACHE_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/sandcell}

# The engine's API at $url: engine_curl PATH [curl's options…]. Fails on an HTTP error, and
# the engine's own words are then what it prints.
engine_curl() {
  local path=$1
  shift
  case $url in
    unix://*) curl -sS --fail-with-body --unix-socket "${url#unix://}" "$@" "http://engine$path" ;;
    tcp://*) curl -sS --fail-with-body "$@" "http://${url#tcp://}$path" ;;
    *) die "the scripts reach an engine at unix:// or tcp:// only, not at $url" ;;
  esac
}

# Which engine answers at $url: prints "docker" or "podman", fails when none does.
engine_kind() {
  local head
  head=$(engine_curl /_ping -i -m 5 2>/dev/null) || return 1
  case $head in
    *Libpod-Api-Version:*) echo podman ;;
    *OK) echo docker ;;
    *) return 1 ;;
  esac
}

# Percent-encodes every byte but letters, digits and a few marks.
urlencode() {
  local LC_ALL=C s=$1 i c
  for ((i = 0; i < ${#s}; i++)); do
    c=${s:i:1}
    case $c in
      [A-Za-z0-9._/-]) printf %s "$c" ;;
      *) printf '%%%02X' "'$c" ;;
    esac
  done
}
