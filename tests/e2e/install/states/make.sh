#!/usr/bin/env bash
# Makes the state of a master for test_upgrade.py with an older release. schema_23.tar.xz is of commit 3b656fd3 (0.39.0 with
# schema version 23), built by `cmake --preset release -DDET_TESTS=OFF -DDET_PYTORCH=OFF -DDET_UNITY=ON` and
# `ninja det det_python_runtime`:
#   make.sh SOURCE_TREE PYTHON OUTPUT.tar.xz
# PYTHON has PyTorch. The paths in the state begin with `place`, which the test replaces by a name that is as long.
set -euo pipefail
tree="$(realpath "$1")" python="$2" output="$(realpath "$3")"
model="$(dirname "$(realpath "$0")")/../../models/noisy"
place=/tmp/state-of-determined-00000000
mkdir "$place"
trap 'kill "$up" 2>/dev/null || true; rm -rf "$place"' EXIT
det() { "$tree/build/release/bin/det" -m http://127.0.0.1:18231 "$@"; }
"$tree/build/release/bin/det" up --dir "$place" --port 18231 --python "$python" --python-path "$tree/python" >"$place/log" 2>&1 &
up=$!
until grep -q "is ready" "$place/log"; do sleep 0.1; kill -0 "$up"; done

det -u admin user create alice
det -u admin workspace create vision
det -u admin project create vision digits
det -u admin template set small "$model/const.yaml"
cd "$model"
# 1: completed; 2: the same, paused on its way, to go on after the upgrade; 3: a search.
det experiment create const.yaml . --follow-first-trial
det experiment create const.yaml . --config scheduling_unit=10
until [ -n "$(det experiment list-checkpoints 2 --csv 2>/dev/null | grep COMPLETED || true)" ]; do sleep 0.1; done
det experiment pause 2
det experiment create search.yaml . --project_id 2 --config searcher.max_trials=2 --config min_validation_period.batches=64
det experiment wait 3
best="$(det experiment list-checkpoints 1 --csv | grep COMPLETED | grep -oE '[0-9a-f-]{36}' | tail -1)"
det model create digits
det model register-version digits "$best"
until det experiment describe 2 | grep -q PAUSED; do sleep 0.1; done
sleep 3  # the paused trial's process ends
kill -TERM "$up"
wait "$up" || true
rm -rf "$place/agent" "$place/log" "$place"/checkpoints/*/tensorboard
tar -C "$place" --owner=0 --group=0 --mtime=2026-11-25 --sort=name -cJf "$output" .
ls -l "$output"
