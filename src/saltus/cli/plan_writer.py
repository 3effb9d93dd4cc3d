"""Plan files of `plan` and `ipc-plan`: plans as they come, and what becomes of those of an earlier call."""

from __future__ import annotations

import os
import re
import stat
from contextlib import suppress
from pathlib import Path

from saltus.errors import ConfigurationError, InputError
from saltus.files import WriteError, folder_of, is_replaceable
from saltus.process import PlanResult
from saltus.task import write_plan


class PlanWriter:
    """Plan files: one that is replaced, or `.1`, `.2`, … as anytime planners write them.

    Plans of an earlier call must not be mistaken for new ones, and must not be lost if the disk is full. So they are
    hidden under another name until a new plan is written, or until it is clear that there is none. Only plain files
    are hidden or removed. A device or a FIFO takes all plans, one after the other.
    """

    def __init__(self, path: Path, *, numbered: bool) -> None:
        self.path = path
        self.numbered = numbered
        self.written = 0
        self.cleared = False
        self.hidden: dict[Path, Path] = {}
        """Plans of an earlier call, and the names under which they are hidden."""
        self.modes: dict[Path, int] = {}
        """Their permissions."""

    def check(self, *inputs: Path) -> None:
        """Rejects a path that cannot be written to, or that is an input."""
        if not self.path.parent.is_dir():
            raise InputError(f"{self.path.parent}: no such folder")
        if self.path.is_dir():
            raise InputError(f"{self.path}: is a folder")
        try:
            is_replaceable_path = is_replaceable(self.path)
        except OSError as error:
            raise InputError(f"{self.path}: cannot be written: {error.strerror or error}") from error
        if not is_replaceable_path:
            self.numbered = False
            return
        folder = self.path.parent if self.numbered else folder_of(self.path)
        if not folder.is_dir():
            raise InputError(f"{folder}: no such folder")
        if not os.access(folder, os.W_OK):
            raise InputError(f"{folder}: cannot be written to")
        places = [self.path, *self.earlier()]
        for path in inputs:
            for place in places:
                with suppress(OSError):
                    if path.samefile(place):
                        raise ConfigurationError(f"{place}: the plan would overwrite an input file")

    def earlier(self) -> list[Path]:
        """Plans of an earlier call: the file itself, and numbered ones, as far as they are plain files."""
        return self._plain_files(f"{re.escape(self.path.name)}(\\.[0-9]{{1,9}})?")

    def _plain_files(self, pattern: str) -> list[Path]:
        """Plain files next to the plan with names of a pattern."""
        folder = self.path.parent
        return [
            path
            for path in folder.iterdir()
            if re.fullmatch(pattern, path.name) and path.is_file() and not path.is_symlink()
        ]

    def clear(self) -> None:
        """Hides plans of an earlier call, so that none is mistaken for a new one."""
        if self.cleared:
            return
        self.cleared = True
        if not is_replaceable(self.path):
            return
        for hidden in self._plain_files(f"\\.{re.escape(self.path.name)}(\\.[0-9]{{1,9}})?\\.earlier"):
            self.hidden[hidden.with_name(hidden.name[1:].removesuffix(".earlier"))] = hidden  # left by a kill
        for old in self.earlier():
            hidden = old.with_name(f".{old.name}.earlier")
            try:
                self.modes[old] = stat.S_IMODE(old.stat().st_mode)
                old.rename(hidden)
            except OSError as error:
                raise InputError(f"{old}: an earlier plan cannot be removed: {error.strerror or error}") from error
            self.hidden[old] = hidden

    def drop_earlier(self) -> None:
        """Removes the hidden plans."""
        for old, hidden in self.hidden.items():
            try:
                hidden.unlink(missing_ok=True)
            except OSError as error:
                raise InputError(f"{old}: an earlier plan cannot be removed: {error.strerror or error}") from error
        self.hidden.clear()

    def restore_earlier(self) -> None:
        """Gives the hidden plans their names back."""
        for old, hidden in self.hidden.items():
            with suppress(OSError):
                hidden.rename(old)
        self.hidden.clear()

    def write(self, result: PlanResult) -> None:
        """Writes the plan of a result; the plans of an earlier call are kept if that fails."""
        if result.plan is None or result.cost is None:
            return
        self.written += 1
        path = self.last_path()
        try:
            write_plan(path, result.plan, result.cost, unit_cost=result.unit_cost, mode=self.modes.get(path))
        except WriteError:
            self.written -= 1
            self.restore_earlier()
            raise
        self.drop_earlier()

    def last_path(self) -> Path:
        """Where the last plan went, or would go."""
        return self.path.with_name(f"{self.path.name}.{max(self.written, 1)}") if self.numbered else self.path

    def last_name(self) -> str | None:
        """Where the last plan went; None if there is no plan."""
        return str(self.last_path()) if self.written else None
