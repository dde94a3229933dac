#!/usr/bin/env bash
# Searches for inputs that break the parsers, with libFuzzer: tools/fuzz.sh [seconds for each] [target…]
# Installs clang's fuzzing runtime if it is missing. New inputs gather in build/fuzz/corpus.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds="${1:-60}"
shift || true
[ $# -gt 0 ] || set -- json yaml http archive events
for package in clang-19 libclang-rt-19-dev; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing=1
done
if [ -n "${missing:-}" ]; then apt-get install -y -qq clang-19 libclang-rt-19-dev >/dev/null; fi
cmake -S . -B build/fuzz -G Ninja -DCMAKE_CXX_COMPILER=clang++-19 -DDET_TESTS=OFF \
  -DDET_PYTHON_MODULE=OFF -DDET_LIBFUZZER=ON -DCMAKE_CXX_FLAGS="-O1 -g1 -fsanitize=fuzzer-no-link -Wno-error" \
  -DDET_SANITIZE=address,undefined >build/fuzz-configure.log 2>&1 || { cat build/fuzz-configure.log; exit 1; }
ninja -C build/fuzz "${@/#/det_fuzz_}"
for target in "$@"; do
  printf '\033[1m== %s\033[0m\n' "$target: $seconds s"
  mkdir -p "build/fuzz/corpus/$target"
  "build/fuzz/tests/fuzz/det_fuzz_$target" -max_total_time="$seconds" -max_len=16384 -timeout=10 -print_final_stats=0 -verbosity=0 \
    -artifact_prefix="build/fuzz/$target-" "build/fuzz/corpus/$target" "tests/fuzz/corpus/$target"
done
