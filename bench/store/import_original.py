"""How fast `det import-determined` is, what a large cluster costs on disk, and how long its pages wait.

bench/store/import_original.py [--rows 10000000] [--into sqlite|postgres] [--copies 10]

A database of the original's shape with 1,000 experiments of 100 trials, metrics of the first trials and log lines of
the first hundred is generated and imported; then a master answers what pages ask. --copies 10 first gives nine times
as many of the next trials the same metrics, in the imported database.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import re
import sqlite3
import subprocess
import sys
import tempfile
import time
import urllib.request

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "tests" / "e2e"))
from postgres import PostgresServer  # noqa: E402

SQL = REPOSITORY / "src" / "store" / "import" / "testing" / "original_0_38.sql"
BINARY = os.environ.get("DET_BINARY", str(REPOSITORY / "build" / "release" / "bin" / "det"))
FILL = """
INSERT INTO experiments (id, state, config, start_time, end_time, owner_id, original_config, job_id)
SELECT 100 + n, 'COMPLETED', jsonb_set((SELECT config FROM experiments WHERE id = 1), '{{name}}',
  to_jsonb('generated ' || n)), now() - n * interval '1 minute', now(), 3, 'name: generated', gen_random_uuid()::text
FROM generate_series(1, {experiments}) n;
INSERT INTO runs (id, experiment_id, state, start_time, end_time, hparams, restart_id, total_batches,
  searcher_metric_value)
SELECT 1000 + n, 101 + (n - 1) / 100, 'COMPLETED', now(), now(), '{{"lr": 0.1}}', 1, {points}, random()
FROM generate_series(1, {experiments} * 100) n;
INSERT INTO trials_v2 SELECT id, gen_random_uuid()::text, id FROM runs WHERE id > 1000;
INSERT INTO tasks (task_id, task_type, start_time)
SELECT experiment_id || '.' || id, 'TRIAL', now() FROM runs WHERE id > 1000;
INSERT INTO run_id_task_id SELECT id, experiment_id || '.' || id FROM runs WHERE id > 1000;
DROP INDEX metrics_trial_id_total_batches_idx;
INSERT INTO raw_steps (trial_id, end_time, metrics, total_batches, trial_run_id, partition_type, metric_group)
SELECT r, now(), CAST('{{"avg_metrics": {{"loss": ' || 5.0 / p + random() || ', "accuracy": ' || random() ||
  '}}, "batch_metrics": null}}' AS jsonb), p * 10, 1, 'TRAINING', 'training'
FROM generate_series(1, {points}) p, generate_series(1001, 1000 + {trials}) r;
CREATE INDEX ON metrics (trial_id, total_batches);
INSERT INTO task_logs (task_id, log, "timestamp", level, stdtype, source, rank_id)
SELECT t.task_id, convert_to('epoch ' || n || ': loss ' || random(), 'UTF8'), now(), 'INFO', 'stdout', 'task', 0
FROM (SELECT task_id FROM run_id_task_id WHERE run_id > 1000 ORDER BY run_id LIMIT 100) t,
  generate_series(1, {lines}) n;
ANALYZE;
"""
QUERIES = {
    "list 50 experiments": "experiments?limit=50&orderBy=ORDER_BY_DESC",
    "filter experiments by name": "experiments?limit=50&name=generated%2077",
    "list 100 trials, best first": "experiments/{experiment}/trials?limit=100&sortBy=SORT_BY_BEST_VALIDATION_METRIC",
    "chart of 1,000 points": "trials/time-series?trialIds={trial}&maxDatapoints=1000&metricIds=training.loss",
    "summary of a trial": "trials/{trial}",
    "last 100 log lines": "trials/{trial}/logs?limit=100&orderBy=ORDER_BY_DESC",
    "100 log lines with a text": "trials/{trial}/logs?limit=100&searchText=epoch%207",
}


def measure(arguments: list[str], first_trial: int) -> None:
    """Starts a master on what was imported, and asks it the questions of its pages, 20 times each."""
    with tempfile.TemporaryDirectory() as directory:
        log = pathlib.Path(directory) / "master.log"
        words = [BINARY, "master", "--port", "0", *arguments]
        with log.open("wb") as output:
            master = subprocess.Popen(words, stdout=output, stderr=output)
        try:
            while not (ready := re.search(r"ready: (http://[\w.]+:\d+)", log.read_text())):
                if master.poll() is not None:
                    raise RuntimeError(log.read_text())
                time.sleep(0.05)
            token = ask(ready[1], "auth/login", "", {"username": "determined", "password": ""})["token"]
            for what, query in QUERIES.items():
                took = []
                for n in range(20):
                    path = query.format(experiment=101 + n % 10, trial=first_trial + n)
                    begun = time.monotonic()
                    ask(ready[1], path, token)
                    took.append((time.monotonic() - begun) * 1000)
                took.sort()
                print(f"  {what}: median {took[10]:.1f} ms, slowest {took[-1]:.1f} ms")
        finally:
            master.terminate()
            master.wait()


def statements_to_copy(trials: int, copies: int) -> list[str]:
    """Give the trials after the first `trials` the metrics of the first, over and over."""
    tables = {
        "metrics": "batches, run_id, report_time, body",
        "metric_blocks": "up_to_batches, body, sums",
        "metric_summaries": "up_to_batches, body",
    }
    return [
        f"INSERT INTO {table} (trial_id, metric_group, {columns}) "
        f"SELECT trial_id + {trials * n}, metric_group, {columns} FROM {table} "
        f"WHERE trial_id BETWEEN 1001 AND {1000 + trials} ORDER BY trial_id, metric_group"
        for n in range(1, copies)
        for table, columns in tables.items()
    ]


def copy_in_sqlite(file: pathlib.Path, statements: list[str]) -> None:
    connection = sqlite3.connect(file, isolation_level=None)
    connection.execute("PRAGMA journal_mode = OFF")
    connection.execute("PRAGMA synchronous = OFF")
    for statement in statements:
        connection.execute(statement)
    connection.close()


def ask(url: str, path: str, token: str, body: dict | None = None) -> dict:
    request = urllib.request.Request(
        f"{url}/api/v1/{path}",
        data=None if body is None else json.dumps(body).encode(),
        headers={"Authorization": f"Bearer {token}"} if token else {},
    )
    with urllib.request.urlopen(request) as answer:
        text = answer.read().decode()
    return json.loads(text.splitlines()[0]) if text else {}


def size_of(place: pathlib.Path) -> int:
    return sum(f.stat().st_size for f in place.rglob("*") if f.is_file() and not f.name.endswith("-wal"))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--points", type=int, default=10_000, help="of each trial")
    parser.add_argument("--experiments", type=int, default=1000, help="each of 100 trials; the first have metrics")
    parser.add_argument("--log-lines", type=int, default=1_000_000)
    parser.add_argument("--into", choices=["sqlite", "postgres"], default="sqlite")
    parser.add_argument("--copies", type=int, default=1, help="how many times the metrics are there in the end")
    options = parser.parse_args()
    trials = max(1, options.rows // options.points)
    experiments = max(options.experiments, (trials * options.copies + 99) // 100)
    server = PostgresServer()
    try:
        server.database("original")
        server.run("psql", "-X", "-q", "-d", "original", "-c", SQL.read_text())
        begun = time.monotonic()
        fill = FILL.format(
            experiments=experiments, trials=trials, points=options.points, lines=options.log_lines // 100
        )
        server.run("psql", "-X", "-q", "-d", "original", "-c", fill)
        print(f"filled in {time.monotonic() - begun:.0f} s", flush=True)
        with tempfile.TemporaryDirectory() as directory:
            into = server.database("ours") if options.into == "postgres" else directory
            words = [BINARY, "import-determined", server.url("original"), "--into", into, "--json"]
            done = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True)
            report = json.loads(done.stdout)
            metrics = next(count for count in report["counts"] if count["what"] == "metrics")
            original = int(server.ask("original", "SELECT pg_database_size('original')"))

            def size() -> int:
                if options.into == "postgres":
                    return int(server.ask("ours", "SELECT pg_database_size('ours')"))
                return size_of(pathlib.Path(directory))

            print(
                f"{metrics['imported']} metrics into {options.into} in {report['seconds']:.1f} s, "
                f"{report['metrics_per_second']:.0f} a second; {original / 1e6:.0f} MB became {size() / 1e6:.0f} MB",
                flush=True,
            )
            if options.copies > 1:
                server.run("dropdb", "original")
                statements = statements_to_copy(trials, options.copies)
                if options.into == "postgres":
                    server.run(
                        "psql",
                        "-X",
                        "-q",
                        "-d",
                        "ours",
                        *(w for s in statements for w in ("-c", s)),
                        "-c",
                        "VACUUM ANALYZE",
                    )
                else:
                    copy_in_sqlite(pathlib.Path(directory) / "determined.db", statements)
                print(f"with {options.copies} times the metrics: {size() / 1e6:.0f} MB", flush=True)
            measure(["--dir", directory, *(["--db", into] if options.into == "postgres" else [])], 1001)
            if options.copies > 1:
                return
            again = json.loads(subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True).stdout)
            print(f"repeated: {again['seconds']:.1f} s")
    finally:
        server.end()


if __name__ == "__main__":
    main()
