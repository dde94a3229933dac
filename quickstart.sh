#!/usr/bin/env bash
# From nothing to a trained model: installs what is missing, builds `det`, starts a master with an
# agent in .det, and trains the tutorial's model on Fashion-MNIST. Run again, it is quick.
# With a wheel in dist/ (tools/release wheel) and no build yet, it compiles nothing and uses the wheel.
set -euo pipefail
cd "$(dirname "$0")"
say() { printf '\033[1m== %s\033[0m\n' "$*"; }
wheels=(dist/determined_cpp-*.whl)
if [ -e "${wheels[0]}" ] && [ ! -e build/release/build.ninja ]; then
  environment=.det/environment
  say "using ${wheels[0]}: nothing is compiled (move it away to build from source)"
  tools/setup.sh --without-build
  if [ ! -x "$environment/bin/det" ]; then
    python3 -m venv "$environment"
    say "installing it with PyTorch in $environment (PyTorch is large: some minutes)"
  fi
  "$environment/bin/pip" install --quiet --disable-pip-version-check "${wheels[0]}" $(grep -E '^(torch|numpy)==' tools/requirements.txt)
else
  environment=.venv
  say "building from source; with a wheel (tools/release wheel) in dist/, nothing would be compiled"
  # Compiled while PyTorch is downloaded and the pages are made, which are then linked in.
  tools/setup.sh --without-tests det det_python_runtime
  tools/build.sh --without-tests release det det_python_runtime
fi

export PATH="$PWD/$environment/bin:$PATH"
port="${DET_PORT:-8080}"
export DET_MASTER="http://127.0.0.1:$port"

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
    sleep 2
  done
fi
det experiment wait "$id" >/dev/null
det experiment list-checkpoints "$id" || true

cat <<END

Experiment $id is done. Where to look next:
  its curves and logs   $DET_MASTER/det/experiments/$id
  on the command line   . $environment/bin/activate; export DET_MASTER=$DET_MASTER; det experiment describe $id --metrics
  the tutorial          docs/guide/getting-started.md
  trials in C++         docs/guide/cpp-trials.md
The master and its agent still run; stop them with: pkill -f 'det up'
END
