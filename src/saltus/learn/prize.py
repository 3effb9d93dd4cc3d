"""Stage `learn`: the policy of a contest: that of whoever is ahead, as soon as somebody else is.

Takes how all runs stand (`ranking.py`), and how policies did in the last final, which says more; hands out the policy
of the best one. A policy that the final chose with a way to play of its own is written with that way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from saltus.errors import SaltusError
from saltus.files import WriteError, write_whole
from saltus.learn.contest_state import ContestState
from saltus.learn.final import Placing, is_entrant
from saltus.learn.folder import RunFolder
from saltus.learn.ranking import Standing, reason
from saltus.model.policy_file import load_policy_file, save_policy
from saltus.policy.catalogue import RUN_POLICY

CHOSEN = "chosen.safetensors"
"""File of a policy with another way to play, on its way to who publishes it."""


class Prize:
    """The policy of a contest."""

    def __init__(
        self,
        state: ContestState,
        folder: Path,
        publish: Callable[[Path], None] | None = None,
        warn: Callable[[str], None] = lambda message: None,
    ) -> None:
        """`publish` is called with the file of every better policy (default: it becomes the policy in `folder`)."""
        self.state = state
        self.folder = folder
        self._publish = publish or self._copy
        self._warn = warn
        self._awarded: tuple[str, tuple[float, ...], tuple[str, ...]] | None = None

    def checkpoint(self, name: str, episode: int) -> Path:
        """Where the policy as of a validation of a run is."""
        return RunFolder(run_folder(self.folder, name)).checkpoint(episode)

    def award(self, standings: Sequence[Standing]) -> str | None:
        """Hands out the policy of the best one, of ranked standings, if it has not been.

        None if nothing was handed out; otherwise who is ahead, or an empty text if that was so before.
        """
        order = [entry for entry in standings if entry.best is not None]
        is_over = bool(self.state.ended_by) and self._awarded is None and (self.folder / RUN_POLICY).is_file()
        if not order or is_over:  # the policy of a contest that has ended stays, whatever is still known of it
            return None
        state, first = self.state, order[0]
        state.winner, state.reason = first.name, reason(order)
        path, key, play = run_folder(self.folder, first.name) / RUN_POLICY, first.key, tuple[str, ...]()
        leader = str(first)
        if best := self._best_placed(order):
            state.winner, state.reason = best.run, "; next: ".join(map(str, state.placings[:2]))
            path, key, play = self.checkpoint(best.run, best.episode), (float(best.episode), best.solved), best.play
            leader = str(best)
        wanted = state.winner, key, play
        if self._awarded == wanted or not path.is_file():
            return None
        changes_hands = self._awarded is not None and self._awarded[0] != state.winner
        try:
            self._hand_out(path, play)
        except (SaltusError, OSError) as error:
            self._warn(f"best policy not saved: {error}")
            return None
        self._awarded = wanted
        return leader if changes_hands else ""

    def award_unvalidated(self) -> None:
        """Hands out the policy of the first run that has one if none has been validated."""
        if self._awarded is not None or self.state.winner:
            return
        paths = [run_folder(self.folder, entry.name) / RUN_POLICY for entry in self.state.candidates]
        for path in (entry for entry in paths if entry.is_file()):
            try:
                self._publish(path)
            except (WriteError, OSError) as error:
                self._warn(f"policy not saved: {error}")
            return

    def _best_placed(self, standings: Sequence[Standing]) -> Placing | None:
        """The best of the last final, if it solved anything and no run has become better since by other problems."""
        best = next(iter(self.state.placings), None)
        if best is None or not best.solved or not self.checkpoint(best.run, best.episode).is_file():
            return None
        return best if is_entrant(standings, best.run, best.episode) else None

    def _hand_out(self, path: Path, play: Sequence[str]) -> None:
        """Publishes a policy that plays in some way."""
        if not play:
            self._publish(path)
            return
        chosen, file = self.folder / CHOSEN, load_policy_file(path)
        try:
            save_policy(chosen, replace(file, play=file.play.changed(play)))
            self._publish(chosen)
        finally:
            chosen.unlink(missing_ok=True)

    def _copy(self, path: Path) -> None:
        write_whole(self.folder / RUN_POLICY, path.read_bytes())


def run_folder(folder: Path, name: str) -> Path:
    """The folder of a candidate's run in that of a contest."""
    return folder / "candidates" / name
