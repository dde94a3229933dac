"""Has a ratio moved? Runs the quick benchmarks that compare us with something else, in at most 15 minutes.

Each ratio says how many times as good as the other ours is, measured in the same run. `ratios.json` keeps the ratios of
earlier runs. One that differs from their median by more than they differ among themselves is marked.

Usage: python bench/ratios.py [--only WORD,…] [--keep: add the ratios to ratios.json] [--json]
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator

from platform_under_test import ROOT, circumstances

BENCH = ROOT / "bench"
KEPT = BENCH / "ratios.json"
PEERS = pathlib.Path.home() / ".cache" / "det-bench" / "venv" / "bin" / "python"
"""Ray and Optuna, as frameworks.py says; without them, their ratios are left out."""

KEPT_MOST = 12  # newest runs
LEAST_NOISE = 0.1  # what two runs on a busy machine differ by anyway
UNKNOWN_NOISE = 0.25  # until three runs are kept


@dataclasses.dataclass(frozen=True)
class Ratio:
    """A ratio in the output of a program. ``ours`` and ``other`` have one group, a time or another cost; with ``other``
    empty, the group of ``ours`` is how many times the other's cost ours is."""

    name: str
    ours: str
    other: str = ""


@dataclasses.dataclass(frozen=True)
class Program:
    command: tuple[str, ...]
    ratios: tuple[Ratio, ...]
    environment: tuple[tuple[str, str], ...] = ()


def takes(name: str, ours: str, theirs: str) -> Ratio:
    return Ratio(f"checkpoint, {name}", rf"^{re.escape(ours)} takes ([\d.]+) times as long as {re.escape(theirs)}$")


def regret(function: str) -> Ratio:
    part = rf"^{function}, \d+ trials.*\n(?:  .*\n)*?"
    return Ratio(
        f"regret of tpe, {function}: Optuna's TPESampler",
        rf"{part}  tpe +([\d.]+)",
        rf"{part}  Optuna TPESampler +([\d.]+)",
    )


PROGRAMS = (
    Program(
        ("checkpoints.py", "100", "3"),
        (
            takes("saved at the end: torch.save and sync", "foreground", "torch.save and sync"),
            takes("stored in the background: torch.save and sync", "background: stored", "torch.save and sync"),
            takes("stall of the training: saving at once", "background: stall", "foreground"),
            takes("restored, verified: torch.load", "restore", "torch.load"),
        ),
    ),
    Program(
        ("loop_overhead.py", "--no-lightning", "3"),
        (
            Ratio("loop, linear model: bare PyTorch", r"^line, trial: .*ratio ([\d.]+)"),
            Ratio("loop, CNN: bare PyTorch", r"^CNN, trial: .*ratio ([\d.]+)"),
        ),
        (("OMP_NUM_THREADS", "1"),),
    ),
    Program(
        ("ranks.py", "1"),
        (
            Ratio("two slots, Python: torchrun", r"^trial / torchrun: ([\d.]+)"),
            Ratio("two slots, C++: torchrun", r"^trial in C\+\+ / torchrun: ([\d.]+)"),
        ),
    ),
    Program(
        ("submit.py", "6"),
        (
            Ratio(
                "submit to first metric, warm: cold",
                r"^warm worker: median ([\d.]+) ms",
                r"^cold start: median ([\d.]+) ms",
            ),
        ),
    ),
    Program(
        ("cli_start.py", "20"),
        (
            Ratio(
                "det experiment list: starting a process",
                r"^det experiment list.*: median ([\d.]+) ms",
                r"^true: median ([\d.]+) ms",
            ),
        ),
    ),
    Program(
        ("regret.py", "20", "--only", "tpe"),
        tuple(regret(name) for name in ("Branin", "Hartmann-6", "Rosenbrock-20", "mixed")),
    ),
    Program(
        ("frameworks.py", "100", "2"),
        (
            Ratio(
                "a trivial trial: Ray Tune, actors reused",
                r"^this platform, a process per trial: .* ([\d.]+) ms per trial",
                r"^Ray Tune, actors reused [\d.]+: .* ([\d.]+) ms per trial",
            ),
            Ratio(
                "a trivial trial, both reused: Ray Tune",
                r"^this platform, processes reused: .* ([\d.]+) ms per trial",
                r"^Ray Tune, actors reused [\d.]+: .* ([\d.]+) ms per trial",
            ),
            Ratio(
                "a trivial trial: Ray Tune, an actor each",
                r"^this platform, a process per trial: .* ([\d.]+) ms per trial",
                r"^Ray Tune, one actor per trial [\d.]+: .* ([\d.]+) ms per trial",
            ),
        ),
    ),
)


def ratios_in(program: Program, text: str) -> Iterator[tuple[str, float]]:
    def figure(pattern: str) -> float | None:
        found = re.search(pattern, text, re.MULTILINE)
        return float(found[1].replace(",", "")) if found else None

    for ratio in program.ratios:
        ours, other = figure(ratio.ours), figure(ratio.other) if ratio.other else 1.0
        if ours and other:
            yield ratio.name, other / ours


def run(program: Program) -> dict[str, float]:
    words = [sys.executable, str(BENCH / program.command[0]), *program.command[1:]]
    done = subprocess.run(
        words, capture_output=True, text=True, timeout=600, env=os.environ | dict(program.environment)
    )
    found = dict(ratios_in(program, done.stdout))
    missing = [ratio.name for ratio in program.ratios if ratio.name not in found]
    if missing:
        last = (done.stderr.strip() or done.stdout.strip() or "it printed nothing").splitlines()[-1]
        print(f"{' '.join(program.command)}: no ratio for {'; '.join(missing)}: {last}", file=sys.stderr)
    return found


def moved(now: float, kept: list[float]) -> tuple[float | None, float, bool]:
    """The usual ratio, its noise as a part of it, and whether ``now`` is outside."""
    if not kept:
        return None, UNKNOWN_NOISE, False
    usual = statistics.median(kept)
    noise = UNKNOWN_NOISE
    if len(kept) > 2:
        noise = max(LEAST_NOISE, 1.5 * max(abs(value / usual - 1) for value in kept))
    return usual, noise, abs(now / usual - 1) > noise


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="programs or ratios whose names have one of these words")
    parser.add_argument("--keep", action="store_true", help="add the ratios of this run to ratios.json")
    parser.add_argument("--json", action="store_true", help="print the ratios as JSON")
    options = parser.parse_args()
    words = [word for word in options.only.split(",") if word]
    kept: dict[str, list[float]] = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    began = time.monotonic()
    rows = []
    for program in PROGRAMS:
        names = [program.command[0], *(ratio.name for ratio in program.ratios)]
        if words and not any(word in name for word in words for name in names):
            continue
        if program.command[0] == "frameworks.py" and not PEERS.exists():
            print("left out: Ray and Optuna are not installed as frameworks.py says", file=sys.stderr)
            continue
        for name, now in run(program).items():
            usual, noise, outside = moved(now, kept.get(name, []))
            rows.append({"name": name, "ratio": now, "usual": usual, "noise": noise, "moved": outside})
            kept[name] = [*kept.get(name, []), round(now, 4)][-KEPT_MOST:]
            if not options.json:
                was = "new" if usual is None else f"usually {usual:.3g} ± {100 * noise:.0f} %"
                mark = "" if not outside else "  BETTER" if usual is not None and now > usual else "  WORSE"
                print(f"{name:55} {now:8.3g}  {was}{mark}", flush=True)
    if options.keep:
        KEPT.write_text(json.dumps(kept, indent=2, sort_keys=True) + "\n")
    if options.json:
        print(json.dumps(rows, indent=2))
    else:
        print(f"ratios.py: {len(rows)} ratios in {(time.monotonic() - began) / 60:.1f} minutes; {circumstances()}")


if __name__ == "__main__":
    main()
