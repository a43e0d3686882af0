"""The decorators, and what they declare."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Generic, ParamSpec, TypeVar, overload

from ._errors import DeclarationError
from ._input import Signature

P = ParamSpec("P")
R = TypeVar("R")

_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._/-]{0,126}[A-Za-z0-9])?\Z")
_TASK = re.compile(r"[A-Za-z0-9._-]{1,64}\Z")
_QUEUE = re.compile(r"[a-z0-9._-]{1,64}\Z")


@dataclass(frozen=True)
class Schedule:
    """A schedule of a task, with the keys of a module file."""

    name: str
    #: The schedule's keys, except its task.
    keys: Mapping[str, Any]
    #: Keys of its task other than the target: `timeout`, `retry` and so on.
    task_keys: Mapping[str, Any]
    input: Mapping[str, Any] | None
    worker_tags: Sequence[str]


class Task(Generic[P, R]):
    """A function that jobs call by name. In code, it is called like any function."""

    def __init__(self, function: Callable[P, R], name: str, queue: str) -> None:
        functools.update_wrapper(self, function)
        self.function = function
        self.name = name
        self.queue = queue
        self.schedules: list[Schedule] = []
        self._signature: Signature | None = None
        # If an annotation refers to a type that is defined further down, a worker reads it when it
        # starts.
        with suppress(NameError):
            self._signature = Signature(function)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.function(*args, **kwargs)

    @property
    def is_async(self) -> bool:
        return inspect.iscoroutinefunction(self.function)

    @property
    def signature(self) -> Signature:
        if self._signature is None:
            try:
                self._signature = Signature(self.function)
            except NameError as error:
                raise DeclarationError(
                    f"{self.name}: an annotation is not there: {error}"
                ) from None
        return self._signature

    def describes_same_as(self, other: Task[..., Any]) -> bool:
        """Whether it is the same place in the code, imported a second time.

        A file that is run as a program and imported by one of its modules is executed twice.
        """
        mine, its = self.function.__code__, other.function.__code__
        return (self.queue, mine.co_filename, mine.co_firstlineno) == (
            other.queue,
            its.co_filename,
            its.co_firstlineno,
        )


class Registry:
    """The declared tasks, by name."""

    def __init__(self) -> None:
        self.tasks: dict[str, Task[..., Any]] = {}

    def add(self, task: Task[..., Any]) -> None:
        there = self.tasks.get(task.name)
        if there is not None and there is not task and not there.describes_same_as(task):
            raise DeclarationError(
                f"two functions declare the task {task.name}: {_place(there)} and {_place(task)}; "
                "give one of them another name"
            )
        for schedule in task.schedules:
            self.check_schedule(task, schedule)
        self.tasks[task.name] = task

    def check_schedule(self, task: Task[..., Any], schedule: Schedule) -> None:
        for other in self.tasks.values():
            for each in other.schedules:
                if each is schedule or each.name != schedule.name:
                    continue
                if other is task or not other.describes_same_as(task):
                    raise DeclarationError(
                        f"two declare the schedule {schedule.name}: {_place(other)} and "
                        f"{_place(task)}; give one of them another name"
                    )


declared = Registry()


def task(*, queue: str, name: str | None = None) -> Callable[[Callable[P, R]], Task[P, R]]:
    """Declares a function as a task that jobs in `queue` call by its name."""

    def declare(function: Callable[P, R]) -> Task[P, R]:
        made = _task(function, name, queue)
        declared.add(made)
        return made

    return declare


class _Scheduler:
    """What `scheduled` returns: declares a function, or adds a schedule to a task."""

    def __init__(self, queue: str | None, build: Callable[[str], Schedule]) -> None:
        self._queue = queue
        self._build = build

    @overload
    def __call__(self, function: Task[P, R]) -> Task[P, R]: ...
    @overload
    def __call__(self, function: Callable[P, R]) -> Task[P, R]: ...
    def __call__(self, function: Any) -> Any:
        if isinstance(function, Task):
            if self._queue not in (None, function.queue):
                raise DeclarationError(
                    f"{function.name} is declared for the queues {function.queue} and {self._queue}"
                )
            made = function
        elif self._queue is None:
            raise DeclarationError(f"{function.__qualname__}: name the queue of its jobs")
        else:
            made = _task(function, None, self._queue)
        schedule = self._build(made.name)
        declared.check_schedule(made, schedule)
        made.schedules.append(schedule)
        declared.add(made)
        return made


def scheduled(
    *,
    cron: str | Iterable[str],
    queue: str | None = None,
    zone: str = "UTC",
    overlap: str = "skip",
    name: str | None = None,
    input: Mapping[str, Any] | None = None,
    timeout: str | None = None,
    retry: Mapping[str, Any] | None = None,
    note: str | None = None,
    tags: Sequence[str] = (),
    worker_tags: Sequence[str] = (),
    options: Mapping[str, Any] | None = None,
) -> _Scheduler:
    """Declares the schedule of a function.

    `cron` is `when` of a module file: one expression or several, `@every 6h`, `@at ...`.
    `input` are the arguments, and its texts may be templates. `options` are further keys of the
    schedule as a module file names them, such as `{"misfire": {"catch_up": "all"}}`.
    """
    when: str | list[str] = cron if isinstance(cron, str) else list(cron)
    keys: dict[str, Any] = {**(options or {}), "when": when, "zone": zone, "overlap": overlap}
    for taken in ("task", "workflow"):
        if taken in keys:
            raise DeclarationError(f"options: {taken} is what the function itself is")
    if note is not None:
        keys["note"] = note
    if tags:
        keys["tags"] = list(tags)
    task_keys: dict[str, Any] = {}
    if timeout is not None:
        task_keys["timeout"] = timeout
    if retry is not None:
        task_keys["retry"] = dict(retry)

    def build(default: str) -> Schedule:
        return Schedule(_schedule_name(name or default), keys, task_keys, input, tuple(worker_tags))

    return _Scheduler(queue, build)


def _task(function: Callable[P, R], name: str | None, queue: str) -> Task[P, R]:
    if not inspect.isfunction(function):
        raise DeclarationError(f"{function!r} is not a function")
    if not _QUEUE.match(queue):
        raise DeclarationError(f"{queue!r} is not a valid queue name: 1 to 64 of a-z 0-9 . _ -")
    name = name or function.__name__
    if not _TASK.match(name):
        raise DeclarationError(f"{name!r} is not a valid task name: 1 to 64 of a-z A-Z 0-9 . _ -")
    return Task(function, name, queue)


def _schedule_name(name: str) -> str:
    if not _NAME.match(name):
        raise DeclarationError(
            f"{name!r} is not a valid schedule name: 1 to 128 of A-Z a-z 0-9 . _ / -, with a "
            "letter or digit first and last"
        )
    return name


def _place(task: Task[..., Any]) -> str:
    code = task.function.__code__
    return f"{code.co_filename}:{code.co_firstlineno}"
