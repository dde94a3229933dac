#!/usr/bin/env bash
# Formats C++ and Python the one way; with --check changes nothing, and fails if something would change
# or a Python rule (ruff.toml, mypy --strict) is broken.
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH="$PWD/.venv/bin:$PATH"
mapfile -t cxx < <(git ls-files -co --exclude-standard '*.cpp' '*.h')
if [ "${1:-}" = --check ]; then
  broken=0
  clang-format --dry-run --Werror "${cxx[@]}" || broken=1
  ruff format --check --quiet . || { echo "ruff format: some Python files would change; tools/format.sh changes them"; broken=1; }
  ruff check --quiet . || broken=1
  (cd python && mypy) || broken=1
  exit "$broken"
else
  clang-format -i "${cxx[@]}"
  ruff format --quiet .
  ruff check --quiet --fix .
fi
