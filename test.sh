#!/usr/bin/env bash
# All tests, on a fresh machine or again: unit tests, simulation, the Python package, the web page,
# and whole experiments on the real program. With --sanitizers also what runs in one process under
# the address and undefined-behaviour sanitizers, which builds it once more.
set -euo pipefail
cd "$(dirname "$0")"
started=$SECONDS
failed=()
say() { printf '\033[1m== [%4ds] %s\033[0m\n' "$((SECONDS - started))" "$*"; }
run() {
  local name="$1"; shift
  say "$name"
  if ! "$@"; then failed+=("$name"); fi
}

unit=
memory=
end() {
  if [ -n "$unit" ]; then kill "$unit" 2>/dev/null || true; fi
  if [ -n "$memory" ]; then umount -l "$memory" || true; rmdir "$memory" || true; fi
}
trap end EXIT

tools/setup.sh all
tools/build.sh release
export PATH="$PWD/.venv/bin:$PATH" PYTHONDONTWRITEBYTECODE=
export DET_BINARY="$PWD/build/release/bin/det"

# What tests write, they write into memory where there is enough of it and we may mount it: clusters make each of their
# commits durable, and waiting for the disk is a third of the time of all tests. Not below /dev/shm: tasks have their own.
if [ "$(id -u)" = 0 ] && [ "$(awk '/MemAvailable/ {print int($2 / 1048576)}' /proc/meminfo)" -ge 16 ]; then
  memory="$(mktemp -d /tmp/d.XXXXXX)"
  if mount -t tmpfs -o size=12g,mode=755 det-tests "$memory" 2>/dev/null; then
    export TMPDIR="$memory"
  else
    rmdir "$memory"
    memory=
  fi
fi

# Much of a test is waiting, so three processes share two cores; tests that share a fixture of their file stay together.
processes=$(( $(nproc) < 8 ? $(nproc) + 1 : 8 ))
# What a passed test wrote (its checkpoints, its cluster) goes at once, or all of them fill a disk.
# Tests that failed beside others, if they are few, are run once more alone: those that pass then are named, since what
# they say is that the machine was too busy, or that two of them are in each other's way.
alone=()
# The names of the tests that failed, as they are when they run alone: the group that a test was in is not in its name.
without_groups='
import json, re, sys
names = [re.sub("@[^@\\]]*$", "", name) for name in json.load(open(sys.argv[1]))]
json.dump(dict.fromkeys(names, True), open(sys.argv[1], "w"))
print("\n".join(names))
'
python_tests() {
  local kept; kept="$(mktemp -d)"
  local options=(-q --basetemp="${TMPDIR:-/tmp}/t.$$" -o cache_dir="$kept" -o tmp_path_retention_policy=failed -o tmp_path_retention_count=1)
  python -m pytest "${options[@]}" -n "$processes" --dist loadgroup --no-loadscope-reorder "$@" && return
  local failures; failures="$(python -c "$without_groups" "$kept/v/cache/lastfailed")" || return 1
  if [ "$(wc -l <<<"$failures")" -gt 5 ]; then return 1; fi
  say "once more, alone: $failures"
  python -m pytest "${options[@]}" -v --last-failed --last-failed-no-failures none "$@" || return 1
  alone+=("$failures")
}

unit_tests=(ctest --test-dir build/release --output-on-failure --no-tests=error)
# More than half of their time is waiting, so they run beside what follows, and what they print comes when that is done.
unit_log="$(mktemp)"
"${unit_tests[@]}" -j "$processes" >"$unit_log" 2>&1 &
unit=$!
finish_unit_tests() {
  local code=0
  wait "$unit" || code=$?
  unit=
  if [ "$code" = 0 ]; then
    tail -n 2 "$unit_log"
    return
  fi
  grep -vE ' Passed |^ +Start ' "$unit_log" || true
  say "once more, alone: the unit tests that failed"
  "${unit_tests[@]}" --rerun-failed || return 1
  alone+=("$(sed -n '/The following tests FAILED/,$ s/^[[:space:]]*[0-9]* - \([^ ]*\) .*/\1/p' "$unit_log")")
}

say "unit tests and simulation, beside what follows"
run "rules of the house (tools/tidy.py)"     python tools/tidy.py
run "formatting, lint and types"              tools/format.sh --check
run "the web page's functions"               npm --prefix webui test --silent
run "the Python package"                     python_tests python/tests
run "unit tests and simulation"              finish_unit_tests
run "whole experiments on the real program"  python_tests tests/e2e tools

if [ "${1:-}" = --sanitizers ]; then
  say "the same under address and undefined-behaviour sanitizers (without disks)"
  modules="base;access;config;search;scheduler;experiment;api;cluster;http;checkpoint;trial;agent"
  if DET_CONFIGURE="-DDET_MODULES=$modules" tools/build.sh asan; then
    run "sanitized tests" env DET_SEEDS=300 ctest --test-dir build/asan --output-on-failure --no-tests=error -E '^(agent|checkpoint)/' -j 2 --progress
    # The leak checker starts a thread at the end, which a process above a process namespace cannot.
    run "sanitized agents" env ASAN_OPTIONS=detect_leaks=0 ctest --test-dir build/asan --output-on-failure --no-tests=error -R '^agent/' -j 2 --progress
  else
    failed+=("the sanitizer build")
  fi
fi

if [ ${#alone[@]} -gt 0 ]; then
  say "PASSED ONLY ALONE: $(printf '%s ' "${alone[@]}")"
fi
if [ ${#failed[@]} -gt 0 ]; then
  say "FAILED: $(IFS=,; echo "${failed[*]}")"
  exit 1
fi
say "all tests passed"
