"""Targets of the fuzzer: everything in Saltus that reads what others wrote.

A target has a corpus of good and bad inputs, a way to mutate them, and a function that feeds one input to the library
as a command would. An input is one sequence of bytes, so that a failure is saved as one file; where a target needs two
files, `SEPARATOR` stands between them.
"""

from __future__ import annotations

import contextlib
import io
import json
import random
import re
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from zlib import crc32

from tests.conftest import ROOT
from tests.fuzz.mutate import JSON_LINES, LISP, TEXT, TOML, Mutation, change_values, mutated
from tests.pddl.malformed import CASES
from tests.random_adl import random_adl_texts
from tests.tasks import RICH_DOMAIN, RICH_PROBLEM

import saltus
from saltus.cli.generate import parse_sizes
from saltus.cli.main import run as run_command
from saltus.cli.options import limits_of
from saltus.cli.policies import facts
from saltus.domains import DOMAINS, generate_problem
from saltus.domains.suite import check_suite
from saltus.errors import SaltusError
from saltus.lab.baselines.wl_model import read_model_entry
from saltus.lab.bench.records import RecordFile, read_records
from saltus.lab.experiment.spec import read_experiment
from saltus.lab.report.page import report_page
from saltus.lab.report.report import make_report
from saltus.learn import Trainer, load_configuration
from saltus.learn.candidates import Candidate
from saltus.learn.config import named_configurations
from saltus.learn.contest_state import FILE as CONTEST_FILE
from saltus.learn.contest_state import Budget, ContestState, Round
from saltus.learn.folder import RunFolder
from saltus.lookahead import lookahead
from saltus.model.description import read_description
from saltus.model.policy_file import load_policy_file
from saltus.pddl import Source, parse_domain, parse_problem
from saltus.pddl.signature import check_signature, domain_signature
from saltus.policy import LearnedPolicy
from saltus.task import build_task, parse_plan, read_plan, validate

SEPARATOR = b"\n;;; next file ;;;\n"
SMALLEST = 40
"""The splits that problems are taken from are spread over so many sizes, of which the smallest is taken."""
EXAMPLES = ROOT / "examples"
LARGE = re.compile(rb": -?\d{18}|: -?[\d.]+e\+?\d\d|NaN|Infinity")
"""Numbers out of the ordinary in JSON."""

Feed = Callable[[bytes], None]
"""Reads an input; a `SaltusError` is the right answer to a bad one."""


@dataclass(frozen=True)
class Target:
    """Something that reads inputs."""

    name: str
    corpus: Callable[[], list[bytes]]
    mutate: Callable[[random.Random, bytes, Sequence[bytes]], bytes]
    prepare: Callable[[Path], Feed]
    """Makes the reader; it may write to the folder."""
    weight: int
    """How often it is tried, relative to others."""


def mutate_by(kinds: Sequence[Mutation]) -> Callable[[random.Random, bytes, Sequence[bytes]], bytes]:
    """Mutations of a whole input."""
    return lambda rng, text, corpus: mutated(rng, text, corpus, kinds)


def mutate_part(part: int, kinds: Sequence[Mutation]) -> Callable[[random.Random, bytes, Sequence[bytes]], bytes]:
    """Mutations of one of two files; now and then of both."""

    def mutate(rng: random.Random, text: bytes, corpus: Sequence[bytes]) -> bytes:
        parts = text.split(SEPARATOR)
        for i in range(2):
            if i == part or rng.random() < 0.05:
                others = [other.split(SEPARATOR)[rng.choice((i, i, i, 1 - i))] for other in rng.sample(corpus, 4)]
                parts[i] = mutated(rng, parts[i], others, kinds).replace(SEPARATOR, b"")
        return SEPARATOR.join(parts)

    return mutate


# PDDL and plans -----------------------------------------------------------------------------------------------------


@cache
def pddl_corpus() -> list[bytes]:
    """Domains with problems: the examples, a small problem of every bundled domain, random ones with formulas, and the
    tests' malformed cases."""
    pairs = [(EXAMPLES / "gardener/domain.pddl", EXAMPLES / "gardener/large.pddl")]
    pairs.append((EXAMPLES / "blocksworld/domain.pddl", EXAMPLES / "blocksworld/p03.pddl"))
    found = [(domain.read_bytes(), problem.read_bytes()) for domain, problem in pairs]
    for name, entry in DOMAINS.items():
        found.append((entry.path.read_bytes(), generate_problem(name, "training", 0, SMALLEST, 0).encode()))
    found.append((RICH_DOMAIN.encode(), RICH_PROBLEM.encode()))
    found += [(domain.encode(), problem.encode()) for domain, problem in map(random_adl_texts, range(10))]
    found += [(case.domain, case.problem) for case in CASES if len(case.domain) + len(case.problem) < 10_000]
    return [SEPARATOR.join(pair) for pair in found]


def read_pddl(folder: Path) -> Feed:
    """The reader of domain and problem files, up to the task."""

    def feed(text: bytes) -> None:
        domain_text, problem_text = text.split(SEPARATOR)
        domain = parse_domain(Source.from_bytes(domain_text, "domain.pddl"))
        build_task(domain, parse_problem(Source.from_bytes(problem_text, "problem.pddl"), domain))

    return feed


@cache
def plan_corpus() -> list[bytes]:
    """Plans for the example with three blocks, and the plan for a hundred."""
    return [
        b"(unstack b1 b2)\n(put-down b1)\n(pick-up b2)\n(stack b2 b3)\n; cost = 4 (unit cost)\n",
        (EXAMPLES / "blocksworld/p100.plan").read_bytes()[:2000],
        b"\n".join(f"({name} b1 b2)".encode() for name in ("pickup", "putdown", "stack", "unstack", "noop")),
        b"; no action\n",
    ]


def read_plans(folder: Path) -> Feed:
    """The reader of plan files, and the validator."""
    task = saltus.load(EXAMPLES / "blocksworld/domain.pddl", EXAMPLES / "blocksworld/p03.pddl")
    path = folder / "plan"

    def feed(text: bytes) -> None:
        path.write_bytes(text)
        validate(task, read_plan(path))
        parse_plan(text.decode("utf-8", "replace"))

    return feed


# Records and logs ---------------------------------------------------------------------------------------------------


@cache
def record_corpus() -> list[bytes]:
    """A few lines each of the example records."""
    found: list[bytes] = []
    for path in sorted((EXAMPLES / "records").glob("*.jsonl")):
        lines = path.read_bytes().splitlines()
        found += [b"\n".join(lines[i : i + 4]) + b"\n" for i in range(0, len(lines), 18)]
    return found


def read_record_files(folder: Path) -> Feed:
    """Readers of records, the report on them, and the file that a benchmark continues."""
    path, continued = folder / "records.jsonl", folder / "continued.jsonl"

    def feed(text: bytes) -> None:
        path.write_bytes(text)
        continued.write_bytes(text)
        with contextlib.suppress(SaltusError), RecordFile(continued):
            pass
        read_records(path)
        # A report is slower than all the rest together; large numbers are what it may stumble over.
        if crc32(text) % 16 == 0 or LARGE.search(text):
            found = make_report([path])
            json.dumps(found.to_json())
            report_page(found)

    return feed


@cache
def log_corpus() -> list[bytes]:
    """A log and the configuration of a run."""
    episode = {"kind": "episode", "episode": 5, "loss": 0.4, "td": 0.2, "success": 0.25, "jumps": 16.5, "original": 35}
    episode |= {"steps_per_second": 79.9, "seconds": {"rollouts": 0.1, "steps": 0.2}, "elapsed": 31.9}
    validation = {"kind": "validation", "episode": 25, "solved": 18, "problems": 30, "jumps": 861, "actions": 1457}
    validation |= {"larger_solved": 3, "larger_problems": 8, "larger_jumps": 9, "larger_actions": 9, "td_error": 0.7}
    log = [json.dumps(entry).encode() for entry in (episode, validation, {**episode, "episode": 30}, {**validation})]
    configuration = {"version": 1, "problems": "rovers", "seed": 1, "name": "iw-seed-1", "model": {"layers": 4}}
    return [SEPARATOR.join((b"\n".join(log) + b"\n", json.dumps(values).encode())) for values in (configuration, {})]


def mutate_log(rng: random.Random, text: bytes, corpus: Sequence[bytes]) -> bytes:
    """Mutations of a run's log or of its configuration."""
    log, config = text.split(SEPARATOR)
    if rng.random() < 0.6:
        log = mutated(rng, log, [log, config], JSON_LINES).replace(SEPARATOR, b"")
    else:
        config = mutated(rng, config, [log, config], JSON_LINES).replace(SEPARATOR, b"")
    return log + SEPARATOR + config


def read_logs(folder: Path) -> Feed:
    """Readers of a run's log and configuration, and the report on them."""
    run = folder / "run"
    run.mkdir(exist_ok=True)

    def feed(text: bytes) -> None:
        log, config = text.split(SEPARATOR)
        (run / "log.jsonl").write_bytes(log)
        (run / "config.json").write_bytes(config)
        with contextlib.suppress(SaltusError):
            RunFolder(run).describe()
        found = make_report([], [run])
        if crc32(text) % 8 == 0:
            json.dumps(found.to_json())
            report_page(found)

    return feed


# Policy files and states of runs ------------------------------------------------------------------------------------


def split_tensors(content: bytes) -> tuple[dict[str, object], bytes]:
    """Header and tensors of a safetensors file."""
    size = int.from_bytes(content[:8], "little")
    return json.loads(content[8 : 8 + size]), content[8 + size :]


def join_tensors(header: object, tensors: bytes) -> bytes:
    """A safetensors file of a header and tensors."""
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + tensors


def mutate_tensors(rng: random.Random, content: bytes, corpus: Sequence[bytes]) -> bytes:
    """A safetensors file with a changed description (mostly), header, or bytes."""
    kind = rng.random()
    if kind < 0.1:
        return rng.choice(TEXT)(rng, content, corpus)
    header, tensors = split_tensors(content)
    metadata = header["__metadata__"]
    assert isinstance(metadata, dict)
    if kind < 0.75:
        for key, text in metadata.items():
            if text.startswith("{"):  # a checksum is not
                metadata[key] = json.dumps(change_values(rng, json.loads(text)))
    elif kind < 0.85:
        for key, text in metadata.items():
            metadata[key] = mutated(rng, text.encode(), [text.encode()], JSON_LINES).decode("utf-8", "replace")
    elif kind < 0.95:
        changed = change_values(rng, header)
        header = changed if isinstance(changed, dict) else header
    else:
        place = rng.randrange(max(1, len(tensors)))
        noise = rng.choice((b"\x00\x00\xc0\x7f", b"\x00\x00\x80\x7f", rng.randbytes(4)))
        tensors = tensors[:place] + noise + tensors[place + 4 :]
    return join_tensors(header, tensors)


@cache
def policy_corpus() -> list[bytes]:
    """A small policy file."""
    return [(EXAMPLES / "blocksworld/untrained.safetensors").read_bytes()]


def read_policies(folder: Path) -> Feed:
    """Readers of policy files, what the engine makes of them, and what `policies` shows of them."""
    path = folder / "policy.safetensors"
    domain = parse_domain(Source.from_file(EXAMPLES / "blocksworld/domain.pddl"))
    problem = parse_problem(Source.from_file(EXAMPLES / "blocksworld/p03.pddl"), domain)
    tree = lookahead(build_task(domain, problem))

    def feed(content: bytes) -> None:
        path.write_bytes(content)
        load_policy_file(path, domain)
        LearnedPolicy.load(path, domain).values([tree])
        json.dumps(facts("policy", read_description(path)))

    return feed


@cache
def small_trainer() -> Trainer:
    """A trainer that takes a few milliseconds per episode."""
    settings = ["steps=1", "batch=2", "layers=1", "embedding=4", "horizon=2", "larger_problems=0"]
    settings += ["episodes=1000000", "replay=20", "validate_every=1000000"]
    domain = parse_domain(Source.from_file(DOMAINS["blocksworld"].path))
    texts = [generate_problem("blocksworld", "training", i, SMALLEST, 0).encode() for i in range(2)]
    tasks = [build_task(domain, parse_problem(Source.from_bytes(text, "p"), domain)) for text in texts]
    return Trainer(load_configuration("tiny", settings), tasks, tasks[:1], device="cpu", threads=1)


@cache
def state_corpus() -> list[bytes]:
    """The state of a run after four episodes."""
    from tempfile import TemporaryDirectory

    trainer = small_trainer()
    with TemporaryDirectory() as name:
        folder = RunFolder(Path(name))
        folder.log.touch()
        events = trainer.train()
        for _ in range(4):
            next(events)
        events.close()  # type: ignore[attr-defined]
        trainer.validate()
        assert folder.save_state(trainer, 1.0)
        return [folder.state.read_bytes()]


def read_states(folder: Path) -> Feed:
    """The reader of a run's state, and an episode of the run if the state is accepted."""
    state_corpus()
    trainer = small_trainer()
    run = RunFolder(folder / "resumed")
    run.path.mkdir(exist_ok=True)

    def feed(content: bytes) -> None:
        run.state.write_bytes(content)
        run.log.write_bytes(b"")
        run.load_state(trainer)
        events = trainer.train()
        next(events, None)
        events.close()  # type: ignore[attr-defined]

    return feed


@cache
def contest_corpus() -> list[bytes]:
    """Where contests stand: at the start, and after a round."""
    names = ("aiw-ad", "iw-ad")
    candidates = [Candidate(name, "tiny", (f"lookahead.kind={name[:-3]}",), 1) for name in names]
    start = ContestState("problems", 1, ["layers=2"], Budget(600.0), candidates, list(names))
    later = ContestState("problems", 1, [], Budget(90.0), candidates, ["iw-ad"], used=40.0, winner="iw-ad")
    later.rounds.append(Round("halving", dict.fromkeys(names, 20.0), list(names), ["aiw-ad"], ["iw-ad: 3 of 4"]))
    later.finished, later.failed, later.reason = ["iw-ad"], {"aiw-ad": "out of memory"}, "most solved"
    return [json.dumps({"version": 1, **asdict(state)}, indent=2).encode() for state in (start, later)]


def mutate_contest(rng: random.Random, text: bytes, corpus: Sequence[bytes]) -> bytes:
    """The state of a contest with changed values (mostly) or changed text."""
    if rng.random() < 0.7:
        return json.dumps(change_values(rng, json.loads(text))).encode()
    return mutated(rng, text, corpus, JSON_LINES)


def read_contests(folder: Path) -> Feed:
    """The reader of a contest's state; what it accepts is written and read again as the same."""

    def feed(text: bytes) -> None:
        (folder / CONTEST_FILE).write_bytes(text)
        state = ContestState.read(folder)
        state.write(folder)
        assert ContestState.read(folder) == state

    return feed


@cache
def model_corpus() -> list[bytes]:
    """What model files of WL-GOOSE say about themselves."""
    signature = domain_signature(parse_domain(Source.from_bytes(RICH_DOMAIN.encode())))
    entry = {"format": "saltus-wl-goose", "version": 1, "signature": signature, "training": {"states": 12}}
    return [json.dumps({"saltus": entry, "weights": [0.5, -1.0]}).encode()]


def read_models(folder: Path) -> Feed:
    """The reader of these, and the check whether a model fits a domain."""
    domain = parse_domain(Source.from_bytes(RICH_DOMAIN.encode()))

    def feed(text: bytes) -> None:
        (folder / "model.json").write_bytes(text)
        check_signature(read_model_entry(folder / "model.json")["signature"], domain)

    return feed


# Configurations and options -----------------------------------------------------------------------------------------


@cache
def toml_corpus() -> list[bytes]:
    """The named configurations, and those of experiments."""
    paths = [*named_configurations().values(), *sorted(ROOT.glob("experiments/*/configs/*.toml"))]
    return [path.read_bytes() for path in paths]


def read_toml(folder: Path) -> Feed:
    """The reader of configurations."""
    path = folder / "own.toml"

    def feed(text: bytes) -> None:
        path.write_bytes(text)
        load_configuration(path)

    return feed


@cache
def experiment_corpus() -> list[bytes]:
    """The experiments of this repository, with problems that are there."""
    paths = [path for path in sorted(ROOT.glob("experiments/*.toml")) if path.stem != "headline"]
    texts = [path.read_text(encoding="utf-8") for path in paths]
    listed = re.compile(r"^(?:domains|splits|problems) = \[[^]]*\]\n", re.MULTILINE)
    return [listed.sub("", text).replace("$SALTUS_IPC2023", "smoke").encode() for text in texts]


def read_experiments(folder: Path) -> Feed:
    """The reader of experiments."""
    path = folder / "experiment.toml"

    def feed(text: bytes) -> None:
        path.write_bytes(text)
        read_experiment(path, ROOT / "experiments" / "smoke")

    return feed


OPTIONS = (
    "limits paper 90 8G 1000",
    "limits open 1h30m none none",
    "limits open 0.5m 512M 0",
    "set training.episodes=600 learning_rate=1e-3 model.layers=20",
    "set kind=iw horizon=60 selection=paper",
    "set encoding.kind=aa lookahead.kind=flat training.curriculum=100",
    "sizes blocksworld training blocks=7",
    "sizes sokoban easy side=12 boxes=5",
    "sizes rovers hard rovers=3",
    "run lookahead DOMAIN PROBLEM --kind iw --width 1 --capacity 5 --max-better 3 --max-encoded 50 --max-nodes 100",
    "run lookahead DOMAIN PROBLEM --goal-identity instead --root-successors classes --json",
    "run graph DOMAIN PROBLEM --encoding aa --kind flat --format dot --limit 100 --nullary world",
    "run graph DOMAIN PROBLEM --encoding ext --format json --max-nodes 50",
    "run info DOMAIN PROBLEM --json",
    "run validate DOMAIN PROBLEM PLAN",
    "run policies goal-count --domain DOMAIN",
    "run plan DOMAIN PROBLEM --time-limit 0 --device tpu",
)
"""Command lines and calls, one argument per word; names in capitals are files and stay."""


@cache
def option_corpus() -> list[bytes]:
    """The listed calls, with a null byte between arguments."""
    return ["\0".join(line.split()).encode() for line in OPTIONS]


def mutate_options(rng: random.Random, text: bytes, corpus: Sequence[bytes]) -> bytes:
    """A call with other values; what is called, its files and the names of its options stay."""
    words = text.split(b"\0")
    first = 2 if words[0] in (b"run",) else 1
    places = [i for i in range(first, len(words)) if not words[i].isupper() and not words[i].startswith(b"--")]
    for _ in range(rng.choice((1, 1, 2))):
        if places:
            place = rng.choice(places)
            words[place] = mutated(rng, words[place], [word for word in words if word], TEXT).replace(b"\0", b"0")
            if words[place].startswith(b"--"):  # an option that writes somewhere would be a nuisance
                words[place] = b"x" + words[place]
    return b"\0".join(words)


def read_options(folder: Path) -> Feed:
    """What becomes of values on the command line."""
    files = {"DOMAIN": EXAMPLES / "blocksworld/domain.pddl", "PROBLEM": EXAMPLES / "blocksworld/p03.pddl"}
    files["PLAN"] = EXAMPLES / "blocksworld/p100.plan"

    def feed(text: bytes) -> None:
        kind, *words = text.decode("utf-8", "surrogateescape").split("\0")
        if kind == "limits":
            limits_of(*(words + [""] * 4)[:4])
        elif kind == "set":
            load_configuration(None, words)
        elif kind == "sizes":
            check_suite(folder / "suite", words[0], words[1], 3, 0, parse_sizes(words[2:]))
        else:
            arguments = [str(files.get(word, word)) for word in words]
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                run_command(arguments)

    return feed


TARGETS = {
    target.name: target
    for target in (
        Target("domain", pddl_corpus, mutate_part(0, LISP), read_pddl, 32),
        Target("problem", pddl_corpus, mutate_part(1, LISP), read_pddl, 32),
        Target("plan", plan_corpus, mutate_by(LISP), read_plans, 18),
        Target("records", record_corpus, mutate_by(JSON_LINES), read_record_files, 6),
        Target("log", log_corpus, mutate_log, read_logs, 4),
        Target("policy", policy_corpus, mutate_tensors, read_policies, 4),
        Target("state", state_corpus, mutate_tensors, read_states, 1),
        Target("contest", contest_corpus, mutate_contest, read_contests, 4),
        Target("model", model_corpus, mutate_contest, read_models, 2),
        Target("configuration", toml_corpus, mutate_by(TOML), read_toml, 4),
        Target("experiment", experiment_corpus, mutate_by(TOML), read_experiments, 4),
        Target("options", option_corpus, mutate_options, read_options, 1),
    )
}
"""All targets by name."""
