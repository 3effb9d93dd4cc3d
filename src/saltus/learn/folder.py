"""Stage `learn`: what a run writes. Its folder is readable at any time, and the run can be resumed even after kill -9.

    config.json            resolved configuration, folder of the problems, seed, policy that the run began with
    log.jsonl              one line per episode and per validation
    state.safetensors      the whole run as of the last save: weights, optimiser, replay, random generators
    checkpoints/NNNN.safetensors    the policy as of every validation
    policy.safetensors     the best of them

Nothing is pickled. A resumed run drops the log lines written after its last save and writes them again. Only one
process at a time trains in a folder.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load, save

from saltus.errors import ConfigurationError, InputError, SaltusError
from saltus.files import SETTINGS_BYTES, WriteError, lock, make_folder, read_whole, write_whole
from saltus.learn.config import Configuration, plain_values, saved_configuration
from saltus.learn.events import Event
from saltus.learn.log import log_entry
from saltus.learn.saved_state import checksum, seconds, whole
from saltus.learn.trainer import Trainer
from saltus.model.description import training_seconds
from saltus.model.policy_file import PolicyFile, load_policy_file, save_policy
from saltus.model.schema import read_value
from saltus.model.tensor_file import DamageError, open_plain, parse_json, read_header
from saltus.policy.catalogue import RUN_POLICY, numbered_files, policy_name

STATE_KEY, CHECKSUM_KEY = "saltus-run", "saltus-checksum"
VERSION = 1


@dataclass(frozen=True)
class Start:
    """The policy whose weights a run began with."""

    policy: str
    """Its name or file."""
    digest: str
    """Hash of its weights, since files move and change."""
    seed: int | None = None
    episode: int | None = None
    seconds: float | None = None
    """How long its training took, with that of the policies that it goes back to."""

    @classmethod
    def of(cls, path: Path, file: PolicyFile) -> Start:
        """The start with the policy in a file."""
        digest = hashlib.sha256()
        for name, value in sorted(file.network.state_dict().items()):
            digest.update(name.encode() + value.detach().cpu().numpy().tobytes())
        seed, episode = (value if type(value := file.record.get(key)) is int else None for key in ("seed", "episode"))
        return cls(policy_name(path), digest.hexdigest()[:16], seed, episode, training_seconds(file.record))


@dataclass(frozen=True)
class RunDescription:
    """What makes up a run: the same description gives the same weights on the same machine."""

    problems: str
    """Folder of the problems."""
    seed: int
    configuration: Configuration
    start: Start | None = None
    """None for random weights."""

    def __post_init__(self) -> None:
        if not 0 <= self.seed < 2**63:
            raise ConfigurationError(f"seed is {self.seed}, expected 0 to 2^63 - 1")

    def to_json(self) -> str:
        """Text of `config.json`."""
        values: dict[str, Any] = {"version": VERSION, "problems": self.problems, "seed": self.seed}
        if self.start is not None:
            values["start"] = asdict(self.start)
        return json.dumps(values | plain_values(self.configuration), indent=2) + "\n"


@dataclass
class RunFolder:
    """The folder of a run; what cannot be written is reported to `warn`, and the run goes on."""

    path: Path
    warn: Callable[[str], None] = lambda message: None
    publish: Callable[[Path], None] = lambda path: None
    """Called with the file of every better policy."""
    unsaved: dict[str, str] = field(default_factory=dict)
    """What could not be written, the state or the policy, and why; empty if all is saved."""
    _held: int | None = field(default=None, repr=False)

    @property
    def log(self) -> Path:
        """The log."""
        return self.path / "log.jsonl"

    @property
    def state(self) -> Path:
        """The whole run as of the last save."""
        return self.path / "state.safetensors"

    @property
    def policy(self) -> Path:
        """The best policy."""
        return self.path / RUN_POLICY

    def checkpoint(self, episode: int) -> Path:
        """The policy as of an episode."""
        return self.path / "checkpoints" / f"{episode:04}.safetensors"

    def check_new(self) -> None:
        """Raises a `ConfigurationError` if the folder already holds a run, or a contest."""
        if any((self.path / name).exists() for name in ("config.json", "contest.json")):
            raise ConfigurationError(f"{self.path} already holds a run; --resume goes on with it")

    def create(self, description: RunDescription) -> None:
        """Makes the folder; one that already holds a run is refused."""
        self.check_new()
        make_folder(self.path)
        make_folder(self.path / "checkpoints")
        self.hold()
        self.write_description(description)
        write_whole(self.log, "")

    def write_description(self, description: RunDescription) -> None:
        """Writes `config.json`."""
        write_whole(self.path / "config.json", description.to_json())

    def hold(self) -> None:
        """Keeps other processes from training in the folder until `close`, or until this process ends."""
        handle = os.open(self.path, os.O_RDONLY)
        try:
            free = lock(handle)
        except OSError:  # a file system without locks
            os.close(handle)
            return
        if not free:
            os.close(handle)
            raise ConfigurationError(f"{self.path}: another process is training there")
        self._held = handle

    def describe(self) -> RunDescription:
        """The description in `config.json`; a missing or damaged one is an `InputError`."""
        path = self.path / "config.json"
        if not path.exists():
            raise InputError(
                f"{self.path}: no run to resume: there is no config.json, and no contest.json; a command that was "
                f"stopped before its training began starts anew without --resume"
            )
        try:
            values = parse_json(read_whole(path, SETTINGS_BYTES))
            if values.pop("version", None) != VERSION:
                raise InputError(f"{path}: made by another version of the program")
            problems = read_value(str, values.pop("problems", None), "problems")
            seed = read_value(int, values.pop("seed", None), "seed")
            start = read_value(Start | None, values.pop("start", None), "start")
            for section in values:
                read_value(dict, values[section], section)
            return RunDescription(problems, seed, saved_configuration(values), start)
        except (DamageError, ConfigurationError) as error:
            raise InputError(f"{path}: damaged: {error}") from error

    # -- log ---------------------------------------------------------------------------------------------------------

    def append(self, event: Event, seconds: float) -> None:
        """Adds an event to the log."""
        line = json.dumps({**log_entry(event), "elapsed": round(seconds, 3)}).encode() + b"\n"
        try:
            with self.log.open("ab", buffering=0) as file:
                written = file.write(line)
                if written != len(line):  # a full disk: half a line would spoil the next one
                    file.truncate(file.tell() - written)
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except OSError as error:
            self.warn(f"{self.log}: a line is lost: {error.strerror or error}")

    def close(self) -> None:
        """Lets other processes train in the folder."""
        if self._held is not None:
            os.close(self._held)
            self._held = None

    # -- state -------------------------------------------------------------------------------------------------------

    def save_state(self, trainer: Trainer, seconds: float) -> bool:
        """Saves the whole run; returns whether that went well."""
        tensors, values = trainer.get_state()
        try:
            with self.log.open("ab") as log:
                os.fsync(log.fileno())  # the state must not be on the disk before the lines it counts
                size = log.seek(0, os.SEEK_END)
            # From version 2 on, states have a checksum.
            text = json.dumps(values | {"version": 2, "elapsed": seconds, "log_bytes": size})
            write_whole(self.state, save(tensors, {STATE_KEY: text, CHECKSUM_KEY: checksum(text, tensors)}))
        except (WriteError, OSError) as error:
            self.unsaved["state"] = f"state not saved: {error}"
            self.warn(self.unsaved["state"])
            return False
        self.unsaved.pop("state", None)
        return True

    def load_state(self, trainer: Trainer, start: Start | None = None) -> float:
        """Restores the last save, if any, and cuts the log back to it; returns the seconds that the run took so far."""
        if not self.state.exists():
            if start is not None:
                raise InputError(
                    f"{self.state}: missing; the run began with {start.policy}, which is not saved anywhere else"
                )
            self._cut_log(0)
            return 0.0
        try:
            with open_plain(self.state) as file:
                header = read_header(file, 100_000_000)  # it holds all validations
                text, known = header.metadata.get(STATE_KEY, ""), header.metadata.get(CHECKSUM_KEY)
                values = parse_json(text)
                if values.get("version") not in (1, 2):
                    raise InputError("made by another version of the program")
                file.seek(0)
                tensors = load(file.read(header.size))
            if known != checksum(text, tensors) and (known is not None or values["version"] > 1):
                raise DamageError("its checksum is another one")
            size, elapsed = whole(values, "log_bytes"), seconds(values, "elapsed")
            trainer.set_state(tensors, values)
        except InputError as error:
            raise InputError(f"{self.state}: {error}") from error
        except (SafetensorError, OSError, ValueError, RuntimeError, TypeError, LookupError, ArithmeticError) as error:
            raise InputError(f"{self.state}: damaged: {error}") from error  # without a checksum, anything is possible
        if trainer.episode > trainer.spec.episodes:
            raise ConfigurationError(
                f"--resume: the run has already made {trainer.episode} episodes; training.episodes is "
                f"{trainer.spec.episodes}, expected at least as many"
            )
        self._cut_log(size)
        return elapsed

    def _cut_log(self, size: int) -> None:
        """Cuts the log after the last whole line within `size` bytes; a log that lost its end is not made longer."""
        try:
            if self.log.exists():
                os.truncate(self.log, self.log.read_bytes()[:size].rfind(b"\n") + 1)
        except OSError as error:
            raise WriteError(f"{self.log}: cannot be written: {error.strerror or error}") from error

    # -- policies ----------------------------------------------------------------------------------------------------

    def keep(self, trainer: Trainer, record: Mapping[str, Any], *, is_best: bool) -> None:
        """Saves the current policy as a checkpoint, and as the policy of the run if it is the best."""
        self._save_policy(trainer, self.checkpoint(trainer.episode), record)
        if is_best and self._save_policy(trainer, self.policy, record):
            self.unsaved.pop("policy", None)
            try:
                self.publish(self.policy)
            except (WriteError, OSError) as error:
                self.warn(f"policy not saved: {error}")

    def _save_policy(self, trainer: Trainer, path: Path, record: Mapping[str, Any]) -> bool:
        """Saves the current policy; whether that went well."""
        specs = trainer.configuration
        domain = trainer.tasks[0].domain
        file = PolicyFile.of(
            trainer.learner.player, domain, specs.encoding, specs.lookahead, record, trainer.cost, specs.play
        )
        try:
            save_policy(path, file)
        except SaltusError as error:
            self.warn(f"policy not saved: {error}")
            return False
        return True

    def restore_best(self, trainer: Trainer) -> None:
        """Makes the best checkpoint the policy where another one is: a disk was full, or a kill lost some episodes."""
        best = trainer.best
        if best is None or self.episode_of(self.policy) == best.episode:
            return
        try:
            write_whole(self.policy, self.checkpoint(best.episode).read_bytes())
        except (WriteError, OSError) as error:
            self.unsaved["policy"] = f"best policy, of episode {best.episode}, not restored: {error}"
            self.warn(self.unsaved["policy"])
        else:
            self.unsaved.pop("policy", None)

    def episode_of(self, path: Path) -> int | None:
        """Episode of a saved policy; None if there is none that can be read."""
        try:
            episode = load_policy_file(path).record.get("episode")
        except SaltusError:
            return None
        return episode if type(episode) is int else None


def wait_until_free(path: Path, seconds: float = 60.0) -> None:
    """Waits until nobody trains in a folder, such as a run whose parent was killed and that still saves its state.

    One that is held for longer than so many seconds is a `ConfigurationError`.
    """
    until = time.monotonic() + seconds
    while path.is_dir():
        folder = RunFolder(path)
        try:
            folder.hold()
        except ConfigurationError:
            if time.monotonic() > until:
                raise
            time.sleep(0.2)
            continue
        folder.close()
        return


class NumberedPolicies:
    """What is left of a run that leaves nothing but policies: every better one is the next of PREFIX.1, PREFIX.2, …

    Numbers go on from those of earlier runs, since planners take the highest.
    """

    def __init__(self, prefix: Path) -> None:
        if not prefix.parent.is_dir():
            raise WriteError(f"{prefix.parent}: no such folder to write the policies to")
        self.prefix = prefix
        self.before = max((int(path.suffix[1:]) for path in numbered_files(prefix)), default=0)
        self.written = 0
        """Policies saved so far."""

    @property
    def policy(self) -> Path:
        """The last policy; while there is none, the file of the first one."""
        return self._file(max(1, self.written))

    def take(self, path: Path) -> None:
        """Saves the policy in a file under the next number."""
        write_whole(self._file(self.written + 1), path.read_bytes())
        self.written += 1

    def _file(self, number: int) -> Path:
        return self.prefix.with_name(f"{self.prefix.name}.{self.before + number}")
