#!/usr/bin/env bash
# Builds the wheel and the Debian package of this commit again, from nothing in another directory, and compares them byte by
# byte with those in dist/.
#   tools/release wheel deb && tools/packaging/check_reproducible.sh
set -euo pipefail
cd "$(dirname "$0")/../.."
[ -z "$(git status --porcelain)" ] || { echo "there are changes that are not committed" >&2; exit 1; }
again="$(mktemp -d)"
trap 'rm -rf "$again"' EXIT
git clone --quiet . "$again/elsewhere"
(
  cd "$again/elsewhere"
  export CCACHE_DISABLE=1
  tools/setup.sh all
  tools/release wheel deb
) >"$again/log" 2>&1 || { tail -50 "$again/log" >&2; exit 1; }
for file in dist/*.whl dist/*.deb; do
  cmp "$file" "$again/elsewhere/$file" && echo "the same: $file"
done
