"""Stage `learn`: from how many of the training problems, the smallest first, episodes draw.

A domain in which a policy gets lost shows it hardly any success on most of its problems, and nothing on the way to a
first success tells right from wrong. On the smallest ones there is some. So a curriculum begins with those, and takes
in larger ones over a number of episodes; or sooner, as long as rollouts reach the goal often enough.
"""

from __future__ import annotations

from saltus.learn.values import ENOUGH, FIRST_SHARE, GAIN


class Curriculum:
    """What share of the problems is known; `episodes` is the number after which all are, 0 for all from the start.

    Another share grows while more than enough rollouts reach the goal, and shrinks while fewer do; the larger one
    counts. A policy that has learned before begins with all of them.
    """

    def __init__(self, episodes: int) -> None:
        self.episodes = episodes
        self.pace = FIRST_SHARE
        """The share that depends on rollouts."""

    def share(self, episode: int) -> float:
        """Share of the problems that an episode draws from."""
        if not self.episodes:
            return 1.0
        by_time = FIRST_SHARE + (1.0 - FIRST_SHARE) * min(1.0, episode / self.episodes)
        return max(by_time, self.pace)

    def learn(self, success: float) -> None:
        """Takes account of the share of an episode's rollouts that reached the goal."""
        self.pace = min(1.0, max(FIRST_SHARE, self.pace + GAIN * (success - ENOUGH)))
