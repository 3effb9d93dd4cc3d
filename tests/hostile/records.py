"""Results files, logs and configurations with values that nobody would write."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from tests.hostile.case import Case

HUGE = 10**400
RECORD = {
    "format": "saltus-record",
    "version": 2,
    "domain": "ferry",
    "split": "easy",
    "problem": "p01",
    "method": "goal-count",
    "outcome": "plan found",
    "plan_length": 3,
    "plan_cost": 3.0,
    "seconds": 0.5,
}


def records(*changes: dict[str, object] | str) -> Callable[[Path], None]:
    """Setup with a file `r` of records: each is a sound one with these values changed, or the line itself."""

    def setup(folder: Path) -> None:
        lines = [change if isinstance(change, str) else json.dumps(RECORD | change) for change in changes]
        (folder / "r").write_text("".join(f"{line}\n" for line in lines))

    return setup


def log(*lines: dict[str, object], config: str = "") -> Callable[[Path], None]:
    """Setup with a training run in the folder `run`."""

    def setup(folder: Path) -> None:
        (folder / "run").mkdir()
        (folder / "run" / "log.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        if config:
            (folder / "run" / "config.json").write_text(config)

    return setup


EPISODE = {"kind": "episode", "episode": 1, "loss": 0.5}

CASES = [
    Case("length of 10^400", records({"plan_length": HUGE}), "report r", 31, "plan_length is 1000"),
    Case(
        "length of 10^400 among others",
        records({}, {"plan_length": HUGE}),
        "report r",
        0,
        "r:2:1: damaged line ignored",
    ),
    Case(
        "length of 10^400 as page", records({}, {"plan_length": HUGE}), "report r --html x", 0, "damaged line ignored"
    ),
    Case("length of 10^400 as JSON", records({}, {"plan_length": HUGE}), "report r --json", 0, "damaged line ignored"),
    Case("cost of 10^400", records({"plan_cost": HUGE}), "report r", 31, "plan_cost is 1000"),
    Case("cost of 10^308", records({"plan_cost": 1e308}), "report r", 31, "plan_cost is 1e+308, expected a number"),
    Case("seconds of 10^400", records({"seconds": HUGE}), "report r", 31, "seconds is 1000"),
    Case("objects of 10^400", records({"objects": HUGE}), "report r", 31, "objects is 1000"),
    Case("jumps of 10^400", records({"jumps": HUGE}), "report r", 31, "jumps is 1000"),
    Case("time limit of 10^400", records({"limits": {"seconds": HUGE}}), "report r", 31, "limits is "),
    Case("jump limit of 10^400", records({"limits": {"max_jumps": HUGE}}), "report r", 31, "limits is "),
    Case("version of 10^400", records({"version": HUGE}), "report r", 31, "this program reads version 2"),
    Case(
        "largest length",
        records({"plan_length": 2**63 - 1}, {"problem": "b"}),
        "report r --html x",
        0,
        "2 of 2 problems",
    ),
    Case("largest numbers", records({"plan_cost": 9e99, "seconds": 9e99}), "report r --html x", 0, "page written"),
    Case("infinity", records({"seconds": float("inf")}), "report r", 31, "seconds is inf, expected a number"),
    Case("not a number", records({"plan_cost": float("nan")}), "report r", 31, "plan_cost is nan, expected a number"),
    Case("deep JSON", records("[" * 10**5), "report r", 31, "too deeply nested"),
    Case("half a surrogate", records({"domain": "\ud800"}), "report r --html x", 0, "\\ud800"),
    Case("only blank lines", records("", " "), "report r", 31, "no records in this file"),
    Case("thousands of other lines", records(*["x"] * 5000), "report r", 31, "r:1:1: not a record file"),
    Case("episode of 10^400", log(EPISODE, EPISODE | {"episode": HUGE}), "report --run run", 0, "episode is 1000"),
    Case("loss of 10^400", log(EPISODE | {"loss": HUGE}), "report --run run --html x", 0, "page written"),
    Case(
        "configuration that is no JSON", log(EPISODE, config="{"), "report --run run", 0, "config.json: cannot be read"
    ),
    Case("configuration of null bytes", log(EPISODE, config="\0" * 10**5), "report --run run", 0, "not a text file"),
]
