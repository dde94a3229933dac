#!/usr/bin/env bash
# Builds one preset (default: release) and puts `det` into .venv/bin.
#   tools/build.sh [--without-tests] [preset] [targets…]
#   tools/build.sh --compile-only [targets…]    of the preset release without tests: needs neither .venv nor the pages
#   tools/build.sh --pages                      the pages only
set -euo pipefail
cd "$(dirname "$0")/.."
say() { printf '\033[1m== %s\033[0m\n' "$*"; }
parts="-DDET_TESTS=ON -DDET_PYTORCH=ON"
all=yes  # pages, too, and det where it is found
case "${1:-}" in
  --without-tests) parts="-DDET_TESTS=OFF -DDET_PYTORCH=OFF"; shift ;;
  --compile-only) parts="-DDET_TESTS=OFF -DDET_PYTORCH=OFF"; all=; shift; set -- release "$@" ;;
esac
preset="${1:-release}"
shift || true

python=/usr/bin/python3
if [ -x .venv/bin/python ]; then python="$PWD/.venv/bin/python"; fi
export PATH="$PWD/.venv/bin:$PATH"
# Objects are found again from another clone: paths below this folder count as relative.
export CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_MAXSIZE=4G CCACHE_BASEDIR="$PWD" CCACHE_NOHASHDIR=1
if [ "$preset" = release ]; then
  # A wheel may have been made here (tools/release), which configures the folder for itself.
  DET_CONFIGURE="${DET_CONFIGURE:-} -USKBUILD* -DDET_PYTHON_MODULE=ON -DDET_UNITY=ON $parts"
fi

if [ -n "$all" ] && { [ ! -f webui/dist/index.html ] ||
  [ -n "$(find webui/src webui/index.html webui/package-lock.json -newer webui/dist/index.html -print -quit)" ]; }; then
  say "building the pages"
  # Their types are checked by ./test.sh and tools/check, not here.
  (cd webui && npm ci --silent --no-audit --no-fund && npm run --silent pages >/dev/null)
fi
if [ "$preset" = --pages ]; then exit 0; fi

say "building det ($preset)"
cmake --preset "$preset" ${DET_CONFIGURE:-} -DPython3_EXECUTABLE="$python" >"/tmp/det-configure.$$" || { cat "/tmp/det-configure.$$"; exit 1; }
rm -f "/tmp/det-configure.$$"
ninja -C "build/$preset" "$@"
if [ -n "$all" ] && [ "$preset" != asan ] && [ "$preset" != tsan ] && [ -x "build/$preset/bin/det" ]; then
  install -s -m 755 "build/$preset/bin/det" .venv/bin/det
  # Beside it, where an agent looks; by a link, since it finds library and headers from where it lies.
  if [ -x "build/$preset/bin/det-trial" ]; then ln -sf "../../build/$preset/bin/det-trial" .venv/bin/det-trial; fi
fi
