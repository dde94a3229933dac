#!/usr/bin/env bash
# Builds one preset (default: release) and puts `det` into .venv/bin.
#   tools/build.sh [preset] [targets…]
#   tools/build.sh --without-python [targets…]    of the preset release, what can be compiled before .venv is there
set -euo pipefail
cd "$(dirname "$0")/.."
python=ON
if [ "${1:-}" = --without-python ]; then
  python=OFF
  shift
  set -- release "$@"
fi
preset="${1:-release}"
shift || true

export PATH="$PWD/.venv/bin:$PATH"
# Objects are found again from another clone: paths below this folder count as relative.
export CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_MAXSIZE=4G CCACHE_BASEDIR="$PWD" CCACHE_NOHASHDIR=1
if [ "$preset" = release ]; then
  # A wheel may have been made here (tools/release), which configures the folder for itself.
  DET_CONFIGURE="${DET_CONFIGURE:-} -USKBUILD* -DDET_TESTS=ON -DDET_PYTORCH=$python -DDET_PYTHON_MODULE=$python -DDET_UNITY=ON"
fi
if [ "$python" = OFF ]; then
  : # the page is built with the environment's Node.js
elif [ ! -f webui/dist/index.html ] || [ -n "$(find webui/src webui/index.html webui/package-lock.json -newer webui/dist/index.html -print -quit)" ]; then
  printf '\033[1m== %s\033[0m\n' "building the web page"
  (cd webui && npm ci --silent --no-audit --no-fund && npm run --silent build >/dev/null)
fi
printf '\033[1m== %s\033[0m\n' "building det ($preset)"
cmake --preset "$preset" ${DET_CONFIGURE:-} -DPython3_EXECUTABLE="$PWD/.venv/bin/python" >"/tmp/det-configure.$$" || { cat "/tmp/det-configure.$$"; exit 1; }
rm -f "/tmp/det-configure.$$"
ninja -C "build/$preset" "$@"
if [ "$python" = ON ] && [ "$preset" != asan ] && [ "$preset" != tsan ] && [ -x "build/$preset/bin/det" ]; then
  install -s -m 755 "build/$preset/bin/det" .venv/bin/det
  # Beside it, where an agent looks; by a link, since it finds library and headers from where it lies.
  if [ -x "build/$preset/bin/det-trial" ]; then ln -sf "../../build/$preset/bin/det-trial" .venv/bin/det-trial; fi
fi
