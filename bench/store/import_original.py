"""How fast `det import-determined` is: a database of the original's shape with generated metrics, imported.

bench/store/import_original.py [--rows 10000000] [--into sqlite|postgres]
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "tests" / "e2e"))
from postgres import PostgresServer  # noqa: E402

SQL = REPOSITORY / "src" / "store" / "import" / "testing" / "original_0_38.sql"
BINARY = os.environ.get("DET_BINARY", str(REPOSITORY / "build" / "release" / "bin" / "det"))
FILL = """
INSERT INTO experiments (id, state, config, start_time, end_time, owner_id, original_config, job_id)
SELECT 100 + n, 'COMPLETED', (SELECT config FROM experiments WHERE id = 1), now(), now(), 3, 'name: generated',
  gen_random_uuid()::text
FROM generate_series(1, {experiments}) n;
INSERT INTO runs (id, experiment_id, state, start_time, end_time, hparams, restart_id, total_batches)
SELECT 1000 + n, 101 + (n - 1) / 100, 'COMPLETED', now(), now(), '{{"lr": 0.1}}', 1, {points}
FROM generate_series(1, {trials}) n;
INSERT INTO trials_v2 SELECT id, gen_random_uuid()::text, id FROM runs WHERE id > 1000;
INSERT INTO tasks (task_id, task_type, start_time) SELECT experiment_id || '.' || id, 'TRIAL', now() FROM runs WHERE id > 1000;
INSERT INTO run_id_task_id SELECT id, experiment_id || '.' || id FROM runs WHERE id > 1000;
DROP INDEX metrics_trial_id_total_batches_idx;
INSERT INTO raw_steps (trial_id, end_time, metrics, total_batches, trial_run_id, partition_type, metric_group)
SELECT r, now(), CAST('{{"avg_metrics": {{"loss": ' || 5.0 / p + random() || ', "accuracy": ' || random() ||
  '}}, "batch_metrics": null}}' AS jsonb), p * 10, 1, 'TRAINING', 'training'
FROM generate_series(1, {points}) p, generate_series(1001, 1000 + {trials}) r;
CREATE INDEX ON metrics (trial_id, total_batches);
ANALYZE;
"""


def size_of(place: pathlib.Path) -> int:
    return sum(f.stat().st_size for f in place.rglob("*") if f.is_file() and not f.name.endswith("-wal"))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--points", type=int, default=10_000, help="of each trial")
    parser.add_argument("--into", choices=["sqlite", "postgres"], default="sqlite")
    options = parser.parse_args()
    trials = max(1, options.rows // options.points)
    server = PostgresServer()
    try:
        server.database("original")
        server.run("psql", "-X", "-q", "-d", "original", "-c", SQL.read_text())
        begun = time.monotonic()
        fill = FILL.format(experiments=(trials + 99) // 100, trials=trials, points=options.points)
        server.run("psql", "-X", "-q", "-d", "original", "-c", fill)
        print(f"filled in {time.monotonic() - begun:.0f} s", flush=True)
        with tempfile.TemporaryDirectory() as directory:
            into = server.database("ours") if options.into == "postgres" else directory
            words = [BINARY, "import-determined", server.url("original"), "--into", into, "--json"]
            done = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True)
            report = json.loads(done.stdout)
            metrics = next(count for count in report["counts"] if count["what"] == "metrics")
            original = int(server.ask("original", "SELECT pg_database_size('original')"))
            size = (
                int(server.ask("ours", "SELECT pg_database_size('ours')"))
                if options.into == "postgres"
                else size_of(pathlib.Path(directory))
            )
            print(
                f"{metrics['imported']} metrics into {options.into} in {report['seconds']:.1f} s, "
                f"{report['metrics_per_second']:.0f} a second; {original / 1e6:.0f} MB became {size / 1e6:.0f} MB"
            )
            again = json.loads(subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True).stdout)
            print(f"repeated: {again['seconds']:.1f} s")
    finally:
        server.end()


if __name__ == "__main__":
    main()
