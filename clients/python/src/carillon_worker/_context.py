"""A function's view of the job that it works on."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

Stream = Literal["stdout", "stderr"]


@dataclass(frozen=True)
class Context:
    """The current job. A function receives it through a parameter of this type."""

    job_id: str
    run_id: str
    #: The first attempt is 1.
    attempt: int
    #: The name of the task in its workflow, which may differ from the function's.
    task: str
    queue: str
    namespace: str
    #: The schedule's name, or None for a run by hand.
    schedule: str | None
    #: The schedule's id, which it keeps when it is renamed, or None for a run without a schedule.
    schedule_id: str | None
    #: The schedule's version when the attempt started, or None for a run without a schedule.
    schedule_version: int | None
    #: The scheduled instant of the run; None for a run by hand.
    scheduled_at: datetime | None
    #: The same for each attempt, so that an effect can be made to happen only once.
    idempotency_key: str
    traceparent: str | None
    timeout_seconds: float
    #: Set when the work should stop: the run was cancelled or timed out, another worker has the
    #: job, or this worker's grace period is over. `cancel_reason` says which.
    cancelled: threading.Event
    _started: float
    _log: Callable[[Stream, str], None]
    _extend: Callable[[float], float]
    _reason: Callable[[], str | None]

    @property
    def cancel_reason(self) -> str | None:
        return self._reason()

    @property
    def remaining_seconds(self) -> float:
        """How long until the attempt times out; never below 0."""
        return max(0.0, self._started + self.timeout_seconds - time.monotonic())

    def log(self, text: str, stream: Stream = "stdout") -> None:
        """Writes to the log of the run. Lines are sent in batches, all before the job ends."""
        self._log(stream, text)

    def extend(self, seconds: float) -> float:
        """Keeps the job for this long without heartbeats; returns how long the server granted.

        For work during which this process cannot send heartbeats, such as a C call that holds the
        interpreter's lock.
        """
        return self._extend(seconds)


_current: ContextVar[Context | None] = ContextVar("carillon_context", default=None)


def current_context() -> Context | None:
    """The context of the calling job, or None outside of a job."""
    return _current.get()


class LogHandler(logging.Handler):
    """Sends what a function logs through `logging` to the log of its run.

    Records from outside a job are left to other handlers.
    """

    def emit(self, record: logging.LogRecord) -> None:
        context = _current.get()
        if context is None:
            return
        try:
            stream: Stream = "stderr" if record.levelno >= logging.WARNING else "stdout"
            context.log(self.format(record), stream)
        except Exception:
            self.handleError(record)
