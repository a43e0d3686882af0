"""A job that this worker holds: its context, its function, and its outcome."""

from __future__ import annotations

import asyncio
import json
import threading
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from typing import Any

from ._context import Context, _current
from ._declare import Task
from ._errors import ApiError, CarillonError, Permanent
from ._http import Http, Unanswered, call
from ._input import to_json
from ._joblog import JobLog, Send

_MAX_MESSAGE = 4 << 10
_LOG_PATIENCE = 10.0


class Job:
    def __init__(
        self, given: dict[str, Any], http: Http, worker_id: str, wake: Callable[[], None]
    ) -> None:
        run = given["run"]
        self.id: str = given["id"]
        self.token: str = given["token"]
        self.task: str = given["task"]
        self.queue: str = given["queue"]
        self.input: Any = given.get("input")
        self._http = http
        self._worker_id = worker_id
        self._reason: str | None = None
        self.cancelled = threading.Event()
        self._on_cancel: Callable[[], None] = lambda: None
        self._guard = threading.Lock()
        self.log = JobLog(self._sender(), wake)
        at = run.get("scheduledAt")
        self.context = Context(
            job_id=self.id,
            run_id=run["id"],
            attempt=run["attempt"],
            task=run["task"],
            queue=self.queue,
            namespace=run["namespace"],
            schedule=run.get("schedule"),
            schedule_id=run.get("scheduleId"),
            schedule_version=run.get("scheduleVersion"),
            scheduled_at=datetime.fromisoformat(at.replace("Z", "+00:00")) if at else None,
            idempotency_key=run["idempotencyKey"],
            traceparent=run.get("traceparent"),
            timeout_seconds=float(given["timeoutSeconds"]),
            cancelled=self.cancelled,
            _started=time.monotonic(),
            _log=self.log.add,
            _extend=self._extend,
            _reason=lambda: self._reason,
        )

    @property
    def is_lost(self) -> bool:
        return self._reason == "lost"

    def cancel(self, reason: str) -> None:
        """Asks the function to end. `lost` means that its result is no longer wanted."""
        with self._guard:
            if self._reason is None or reason == "lost":
                self._reason = reason
            if reason == "lost":
                self.log.close()
            is_new = not self.cancelled.is_set()
            self.cancelled.set()
            on_cancel = self._on_cancel
        if is_new:
            on_cancel()

    def work(self, task: Task[..., Any] | None) -> tuple[str, dict[str, Any]]:
        """Runs the function; returns the path and the body of the report."""
        if task is None:
            return self._failure(
                f"this worker has no task named {self.task!r}; during a rolling deploy another "
                "one may have it",
                retry=True,
            )
        token = _current.set(self.context)
        try:
            arguments = task.signature.arguments(self.input, self.context)
            if task.is_async:
                output = asyncio.run(self._run_async(task.function(**arguments)))
            else:
                output = task.function(**arguments)
        except asyncio.CancelledError:
            return self._failure(f"ended, as asked: {self._reason}", retry=True)
        except Permanent as error:
            return self._failure(_text(error), retry=False)
        # Whatever ends a thread must not end the worker: sys.exit() in a function counts as its
        # failure.
        except BaseException as error:
            self.log.add("stderr", traceback.format_exc())
            return self._failure(_text(error), retry=True)
        finally:
            _current.reset(token)
        try:
            text = json.dumps(output, default=to_json, allow_nan=False, ensure_ascii=False)
            # A lone surrogate, as in a file name that is not UTF-8, cannot be sent.
            output = json.loads(text.encode())
        except (TypeError, ValueError, RecursionError) as error:
            return self._failure(f"what {self.task} gave back is not JSON: {error}", retry=False)
        return "complete", self.body(output=output)

    def body(self, **more: Any) -> dict[str, Any]:
        return {"workerId": self._worker_id, "id": self.id, "token": self.token, **more}

    def _failure(self, message: str, *, retry: bool) -> tuple[str, dict[str, Any]]:
        # The server accepts no empty message.
        message = message if message.strip() else "the function gave no reason"
        clean = message.encode("utf-8", "replace")[:_MAX_MESSAGE].decode("utf-8", "ignore")
        return "fail", self.body(message=clean.replace("\0", "\ufffd"), retry=retry)

    async def _run_async(self, coroutine: Any) -> Any:
        running = asyncio.ensure_future(coroutine)
        loop = asyncio.get_running_loop()

        def end() -> None:
            # The loop may have ended between the request to stop and this call.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(running.cancel)

        with self._guard:
            self._on_cancel = end
            if self.cancelled.is_set():
                running.cancel()
        try:
            return await running
        finally:
            # The loop no longer exists afterwards.
            with self._guard:
                self._on_cancel = lambda: None

    def _extend(self, seconds: float) -> float:
        try:
            answer = self._http.post("/worker/v1/extend", self.body(seconds=round(seconds)))
        except ApiError as error:
            if error.status in (404, 409):
                self.cancel("lost")
            raise
        except Unanswered as error:
            raise CarillonError(f"the server did not answer: {error}") from error
        return float(answer["leaseSeconds"])

    def _sender(self) -> Send:
        def send(lines: list[dict[str, Any]]) -> None:
            given_up = threading.Event()
            timer = threading.Timer(_LOG_PATIENCE, given_up.set)
            timer.daemon = True
            timer.start()
            try:
                body = self.body(lines=lines)
                call(self._http, "/worker/v1/log", body, given_up, timeout=_LOG_PATIENCE)
            except ApiError as error:
                if error.status in (404, 409):
                    self.cancel("lost")
            except Unanswered:
                # These lines are lost. The result of the job matters more.
                pass
            finally:
                timer.cancel()

        return send


def _text(error: BaseException) -> str:
    said = str(error)
    kind = type(error).__name__
    return said if said and isinstance(error, Permanent) else f"{kind}: {said}" if said else kind
