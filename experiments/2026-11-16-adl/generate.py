"""Problems of a lift with rules: twice as many floors as passengers, who have traits at random.

    python experiments/2026-11-16-adl/generate.py OUT [--seed 0]

Writes OUT/domain.pddl, OUT/training (40 problems with 1 to 5 passengers) and OUT/testing (20 problems with 10 and 15).
Rules can contradict each other: a problem is kept only if LAMA (extra `baselines`) finds a plan within 20 s.
"""

from __future__ import annotations

import argparse
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from saltus.lab.baselines.lama import LAMA, find_driver

TRAITS = {"vip": 0.05, "going_nonstop": 0.1, "attendant": 0.3, "never_alone": 0.1, "conflict_a": 0.1, "conflict_b": 0.2}
DIRECTED, BARRED = 0.3, 0.1
"""Shares of passengers who go in one direction only, and of those who must not be aboard at some floor."""
TRAINING = [(passengers, 8) for passengers in range(1, 6)]
TESTING = [(passengers, 10) for passengers in (10, 15)]


def problem(passengers: int, rng: random.Random) -> str:
    """Text of a problem; it may have no plan."""
    floors = 2 * passengers
    init = [f"(above f{i} f{j})" for i in range(floors) for j in range(i + 1, floors)]
    init.append(f"(lift-at f{rng.randrange(floors)})")
    for p in range(passengers):
        origin, destination = rng.sample(range(floors), 2)
        init += [f"(origin p{p} f{origin})", f"(destin p{p} f{destination})"]
        init += [f"({trait} p{p})" for trait, share in TRAITS.items() if rng.random() < share]
        if rng.random() < DIRECTED:
            init.append(f"({'going_up' if destination > origin else 'going_down'} p{p})")
        others = [i for i in range(floors) if i not in (origin, destination)]
        if others and rng.random() < BARRED:
            init.append(f"(no-access p{p} f{rng.choice(others)})")
    names = " ".join(f"p{i}" for i in range(passengers)) + " - passenger "
    names += " ".join(f"f{i}" for i in range(floors)) + " - floor"
    facts = "\n    ".join(init)
    return (
        f"(define (problem lift-{passengers})\n  (:domain miconic)\n  (:objects {names})\n"
        f"  (:init\n    {facts})\n  (:goal (forall (?p - passenger) (served ?p))))\n"
    )


def is_solvable(domain: Path, file: Path) -> bool:
    """Whether LAMA finds a plan within 20 s."""
    with tempfile.TemporaryDirectory() as place:
        command = [sys.executable, str(find_driver()), "--alias", LAMA, "--overall-time-limit", "20s"]
        command += ["--plan-file", f"{place}/plan", "--sas-file", f"{place}/output.sas", str(domain), str(file)]
        subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        return Path(place, "plan").is_file()


def main() -> int:
    """Writes the folder."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rng = random.Random(options.seed)
    options.out.mkdir(parents=True, exist_ok=True)
    domain = options.out / "domain.pddl"
    shutil.copy(Path(__file__).parent / "domain.pddl", domain)
    for split, sizes in (("training", TRAINING), ("testing", TESTING)):
        folder = options.out / split
        folder.mkdir(exist_ok=True)
        for passengers, count in sizes:
            kept = tried = 0
            while kept < count:
                tried += 1
                file = folder / f"p{passengers:02}-{kept + 1}.pddl"
                file.write_text(problem(passengers, rng))
                kept += is_solvable(domain, file)
            print(f"{split}: {passengers} passengers, {tried} tried for {count}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
