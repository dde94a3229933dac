#!/usr/bin/env bash
# Formats C++ and Python the one way; with --check changes nothing, and fails if something would change
# or a Python rule (ruff.toml, mypy --strict) is broken.
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH="$PWD/.venv/bin:$PATH"
mapfile -t cxx < <(git ls-files -co --exclude-standard '*.cpp' '*.h')
if [ "${1:-}" = --check ]; then
  clang-format --dry-run --Werror "${cxx[@]}"
  ruff format --check --quiet .
  ruff check --quiet .
  (cd python && mypy)
else
  clang-format -i "${cxx[@]}"
  ruff format --quiet .
  ruff check --quiet --fix .
fi
