#!/usr/bin/env bash
# From nothing to a trained model: installs what is missing, builds `det`, starts a master with an
# agent in .det, and trains the tutorial's model on Fashion-MNIST. Run again, it is quick.
set -euo pipefail
cd "$(dirname "$0")"
tools/setup.sh det det_trial det_shim
tools/build.sh release det det_python_runtime det_trial_program

export PATH="$PWD/.venv/bin:$PATH"
port="${DET_PORT:-8080}"
export DET_MASTER="http://127.0.0.1:$port"
say() { printf '\033[1m== %s\033[0m\n' "$*"; }

if det master info >/dev/null 2>&1; then
  say "a master answers at $DET_MASTER already"
else
  say "starting master and agent (log: .det/det.log)"
  mkdir -p .det
  nohup det up --dir .det --port "$port" >.det/det.log 2>&1 &
  for _ in $(seq 100); do
    grep -q 'is ready' .det/det.log && break
    kill -0 $! 2>/dev/null || { cat .det/det.log; exit 1; }
    sleep 0.1
  done
fi

say "training the tutorial's model (examples/mnist_pytorch/const.yaml)"
latest() { det experiment list --json | python -c 'import json, sys; print(max(e["id"] for e in json.load(sys.stdin)))'; }
if [ -t 1 ]; then
  (cd examples/mnist_pytorch && det experiment create -f const.yaml .)  # with a live line: batches, loss, time left
  id="$(latest)"
else
  (cd examples/mnist_pytorch && det experiment create const.yaml .)
  id="$(latest)"
  while true; do
    line="$(det experiment list --csv | python -c 'import csv, sys
for row in csv.DictReader(sys.stdin):
    if row["ID"] == sys.argv[1]: print(row["State"], row["Progress"])' "$id")"
    echo "  experiment $id: $line"
    case "$line" in COMPLETED* | ERROR* | CANCELED*) break ;; esac
    sleep 5
  done
fi
det experiment wait "$id" >/dev/null
det experiment list-checkpoints "$id" || true

cat <<END

Experiment $id is done. Where to look next:
  its curves and logs   $DET_MASTER/det/experiments/$id
  on the command line   . .venv/bin/activate; export DET_MASTER=$DET_MASTER; det experiment describe $id --metrics
  the tutorial          docs/guide/getting-started.md
The master and its agent still run; stop them with: pkill -f 'det up'
END
