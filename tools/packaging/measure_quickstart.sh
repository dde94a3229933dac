#!/usr/bin/env bash
# Times ./quickstart.sh of the last commit from source, part by part: a fresh clone, empty caches of compiler and uv, and pip's and
# npm's caches as they are. Nothing else should run on the machine.
#   tools/packaging/measure_quickstart.sh
set -euo pipefail
cd "$(dirname "$0")/../.."
place="$(mktemp -d)"
port="$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')"
stop() {
  # The master and agent of this clone, by the only port that they listen on.
  for pid in $(pgrep -f "^det up --dir .det --port $port\$"); do kill "$pid"; done
  rm -rf "$place"
}
trap stop EXIT
git clone --quiet . "$place/clone"
cd "$place/clone"
export CCACHE_DIR="$place/ccache" UV_CACHE_DIR="$place/uv" DET_PORT="$port"
SECONDS=0
./quickstart.sh 2>&1 </dev/null | while IFS= read -r line; do printf '%4d s  %s\n' "$SECONDS" "$line"; done
printf '%4d s  in all\n' "$SECONDS"
