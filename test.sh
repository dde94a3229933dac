#!/usr/bin/env bash
# All tests, on a fresh machine or again: unit tests, simulation, the Python package, the web page, and whole
# experiments on the real program. What each part printed is kept in build/logs; the end lists the parts with
# their times, and what failed.
#   ./test.sh                  everything
#   ./test.sh --sanitizers     also what runs in one process under the address and undefined-behaviour sanitizers
set -euo pipefail
cd "$(dirname "$0")"
logs="$PWD/build/logs"
rm -rf "$logs" && mkdir -p "$logs"
started=$SECONDS
parts=()   # a line for the table at the end: name, seconds, outcome
failed=()  # parts
passed=0   # tests that passed in all parts
say() { printf '\033[1m== [%4ds] %s\033[0m\n' "$((SECONDS - started))" "$*"; }

# run NAME COMMAND…: runs it, shows and keeps what it prints, and adds a line to the table.
run() {
  local name="$1" begun=$SECONDS outcome=ok; shift
  local log="$logs/${name//[^a-zA-Z]/-}.log"
  say "$name"
  # In this shell, and not in one end of a pipe: a part waits for what this shell started.
  if ! "$@" > >(exec tee "$log") 2>&1; then
    outcome=FAILED
    failed+=("$name")
  fi
  sleep 0.2  # tee
  local counts; counts="$(counts_of "$log")"
  passed=$((passed + $(grep -oE '[0-9]+ passed' <<<"$counts" | grep -oE '[0-9]+' || echo 0)))
  parts+=("$(printf '%-44s %5ds  %-6s %s' "$name" "$((SECONDS - begun))" "$outcome" "$counts")")
}

# The counts that pytest, ctest and vitest print last.
counts_of() {
  {
    sed 's/\x1b\[[0-9;]*m//g' "$1" | grep -oE '^[=]* ?([0-9]+ failed, )?[0-9]+ passed(, [0-9]+ [a-z]+)*' | tr -d '=' | sed 's/^ //' | tail -n 1
    sed -nE 's/.* ([0-9]+) tests failed out of ([0-9]+)$/\1 \2/p' "$1" | tail -n 1 | awk '{print ($1 ? $1 " failed, " : "") $2 - $1 " passed"}'
    sed 's/\x1b\[[0-9;]*m//g' "$1" | sed -nE 's/^ *Tests +(.*) \([0-9]+\)$/\1/p' | tail -n 1 | tr '|' ','
  } | head -n 1
}

unit=
memory=
end() {
  if [ -n "$unit" ]; then kill "$unit" 2>/dev/null || true; fi
  if [ -n "$memory" ]; then umount -l "$memory" || true; rmdir "$memory" || true; fi
}
trap end EXIT

run "set-up" tools/setup.sh all
run "build" tools/build.sh release
run "wheel" tools/release wheel
if [ ${#failed[@]} -gt 0 ]; then exit 1; fi
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
  python -m pytest "${options[@]}" -n "$processes" --dist loadgroup --no-loadscope-reorder --durations 15 --durations-min 10 "$@" && return
  local failures; failures="$(python -c "$without_groups" "$kept/v/cache/lastfailed")" || return 1
  echo "$failures" >>"$logs/failed"
  if [ "$(wc -l <<<"$failures")" -gt 5 ]; then return 1; fi
  say "once more, alone: $failures"
  python -m pytest "${options[@]}" -v --last-failed --last-failed-no-failures none "$@" || return 1
  echo "$failures" >>"$logs/alone"
}

unit_tests=(ctest --test-dir build/release --output-on-failure --no-tests=error)
# More than half of their time is waiting, so they run beside what follows, and what they print comes when that is done.
unit_log="$(mktemp)"
"${unit_tests[@]}" -j "$processes" >"$unit_log" 2>&1 &
unit=$!
finish_unit_tests() {
  local code=0
  wait "$unit" || code=$?
  if [ "$code" = 0 ]; then
    grep 'tests passed' "$unit_log"
    return
  fi
  grep -vE ' Passed |^ +Start ' "$unit_log" || true
  local failures; failures="$(sed -n '/The following tests FAILED/,$ s/^[[:space:]]*[0-9]* - \([^ ]*\) .*/\1/p' "$unit_log")"
  echo "$failures" >>"$logs/failed"
  say "once more, alone: the unit tests that failed"
  "${unit_tests[@]}" --rerun-failed || return 1
  echo "$failures" >>"$logs/alone"
}

say "unit tests and simulation start, and run beside what follows"
run "rules of the house (tools/tidy.py)"     python tools/tidy.py
run "formatting, lint and types"              tools/format.sh --check
run "generated clients of the API"            tools/api/generate --check
run "the web page's types"                   npm --prefix webui run --silent check
run "the web page's functions"               npm --prefix webui test --silent
run "the Python package"                     python_tests python/tests
run "unit tests and simulation"              finish_unit_tests
unit=
run "whole experiments on the real program"  python_tests tests/e2e tools

if [ "${1:-}" = --sanitizers ]; then
  say "the same under address and undefined-behaviour sanitizers (without disks)"
  modules="base;access;config;search;scheduler;experiment;task;api;cluster;forecast;http;checkpoint;trial;agent"
  run "build with sanitizers" env DET_CONFIGURE="-DDET_MODULES=$modules" tools/build.sh asan
  run "sanitized tests" env DET_SEEDS=300 ctest --test-dir build/asan --output-on-failure --no-tests=error -E '^(agent|checkpoint)/' -j 2 --progress
  # The leak checker starts a thread at the end, which a process above a process namespace cannot.
  run "sanitized agents" env ASAN_OPTIONS=detect_leaks=0 ctest --test-dir build/asan --output-on-failure --no-tests=error -R '^agent/' -j 2 --progress
fi

say "where the time went (logs: build/logs)"
printf '  %s\n' "${parts[@]}"
printf '  %-44s %5ds\n' "all" "$((SECONDS - started))"
if [ -s "$logs/failed" ]; then
  say "failed"
  while read -r name; do
    if grep -qxF "$name" "$logs/alone" 2>/dev/null; then
      echo "  $name (PASSED ONLY ALONE)"
    else
      echo "  $name"
    fi
  done <"$logs/failed"
fi
if [ ${#failed[@]} -gt 0 ]; then
  say "FAILED: $(IFS=,; echo "${failed[*]}")"
  exit 1
fi
echo "$passed passed, 0 failed"
