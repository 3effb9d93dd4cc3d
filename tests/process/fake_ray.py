"""As much of Ray as the runner uses, with a thread per task: so that tests need no cluster."""

from __future__ import annotations

import ctypes
import pickle
import threading
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any


class FakeRayError(Exception):
    """An error of a task, as `get` raises it."""


class Task:
    """A call in a thread of its own; arguments and results are copied, as between machines."""

    def __init__(self, ray: FakeRay, function: Callable[..., Any], arguments: bytes) -> None:
        self.ray = ray
        self.result: bytes | None = None
        self.error: BaseException | None = None
        self.cancelled: list[bool] = []
        """Whether each call to `cancel` was forced."""
        self.done = threading.Event()
        self.thread = threading.Thread(target=self._run, args=(function, arguments), daemon=True)
        self.thread.start()

    def _run(self, function: Callable[..., Any], arguments: bytes) -> None:
        try:
            self.result = pickle.dumps(function(*pickle.loads(arguments)))
        except BaseException as error:
            self.error = error
        with self.ray.changed:
            self.done.set()
            self.ray.changed.notify_all()


class FakeRay:
    """Stands for the module `ray`."""

    def __init__(self, cores: int = 2) -> None:
        self.cores = cores
        self.exceptions = SimpleNamespace(RayError=FakeRayError)
        self.changed = threading.Condition()
        self.tasks: list[Task] = []
        self.rooms: list[dict[str, Any]] = []
        """What each task asked for."""
        self.jobs: list[Any] = []
        """First argument of each task."""
        self.most_running = 0
        self.connected: list[str] = []
        """Calls to `init` and `shutdown`."""

    def init(self, *, address: str | None, **options: Any) -> None:
        if address == "nowhere":
            raise ConnectionError("nobody answers")
        self.options = options
        self.connected.append("init")

    def shutdown(self) -> None:
        self.connected.append("shutdown")

    def cluster_resources(self) -> dict[str, float]:
        return {"CPU": float(self.cores)}

    def nodes(self) -> list[dict[str, Any]]:
        return [
            {"Alive": True, "Resources": {"CPU": float(self.cores)}},
            {"Alive": False, "Resources": {"CPU": 64.0}},
        ]

    def remote(self, **room: Any) -> Callable[[Callable[..., Any]], Any]:
        def decorate(function: Callable[..., Any]) -> Any:
            def start(*arguments: Any) -> Task:
                self.rooms.append(room)
                self.jobs.append(arguments[0])
                self.tasks.append(Task(self, function, pickle.dumps(arguments)))
                running = sum(not task.done.is_set() for task in self.tasks)
                self.most_running = max(self.most_running, running)
                return self.tasks[-1]

            return SimpleNamespace(remote=start)

        return decorate

    def wait(self, tasks: Sequence[Task], *, num_returns: int, timeout: float = 120) -> tuple[list[Task], list[Task]]:
        with self.changed:
            self.changed.wait_for(lambda: sum(task.done.is_set() for task in tasks) >= num_returns, timeout=timeout)
            ready = [task for task in tasks if task.done.is_set()][:num_returns]
        return ready, [task for task in tasks if task not in ready]

    def get(self, task: Task) -> Any:
        if task.error is not None:
            raise FakeRayError(f"{type(task.error).__name__}: {task.error}\nand a traceback")
        assert task.result is not None
        return pickle.loads(task.result)

    def cancel(self, task: Task, *, force: bool) -> None:
        """Raises an interrupt in the task, as Ray does."""
        task.cancelled.append(force)
        if task.thread.ident is not None and not task.done.is_set():
            ctypes.pythonapi.PyThreadState_SetAsyncExc(
                ctypes.c_ulong(task.thread.ident), ctypes.py_object(KeyboardInterrupt)
            )
