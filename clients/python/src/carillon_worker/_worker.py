"""A worker: it pulls jobs, runs their functions, and reports their outcomes to the server."""

from __future__ import annotations

import logging
import os
import queue
import signal
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any

from ._declare import Registry, Task, declared
from ._errors import ApiError, CarillonError
from ._http import Http, Interrupt, Unanswered, call, delay_after
from ._job import Job
from ._version import CLIENT, PROTOCOL

_log = logging.getLogger("carillon_worker")

_LOG_INTERVAL = 1.0
# How many seconds the remaining log lines of a job may take after its end.
_LAST_LINES = 10.0
_LEAVE_PATIENCE = 5.0
_END_OF_POLL = 0.1
_LATEST_END_OF_POLL = 2.0


class Worker:
    """`run()` works until the process is asked to stop, or until `stop()`."""

    def __init__(
        self,
        url: str,
        token: str,
        *,
        name: str | None = None,
        namespace: str = "default",
        queues: Sequence[str] | None = None,
        tags: Sequence[str] = (),
        capacity: int = 8,
        version: str = "",
        grace: float = 30.0,
        tasks: Iterable[Task[..., Any]] | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        """`tasks` defaults to all that are declared, and `queues` to their queues.

        `capacity` is the maximum number of jobs at once. `grace` is how many seconds they may go on
        once it is asked to stop.
        """
        if capacity < 1:
            raise CarillonError(f"capacity must be at least 1, and is {capacity}")
        registry = declared
        if tasks is not None:
            registry = Registry()
            for task in tasks:
                registry.add(task)
        self._tasks = dict(registry.tasks)
        for task in self._tasks.values():
            # Now, not at the first job: an annotation that cannot be read is a programming error.
            _ = task.signature
        queues = sorted({each.queue for each in self._tasks.values()}) if queues is None else queues
        if not queues:
            raise CarillonError("a worker without queues: declare a task, or name the queues")
        self._register_body = {
            "protocol": PROTOCOL,
            "namespace": namespace,
            "name": name or f"{socket.gethostname()}-{os.getpid()}",
            "queues": list(queues),
            "tags": list(tags),
            "capacity": capacity,
            "version": version,
            "client": CLIENT,
        }
        self._capacity = capacity
        self._grace = grace
        self._http = Http(url, token, tls)
        self._jobs: dict[str, Job] = {}
        self._changed = threading.Condition()
        self._inbox: queue.SimpleQueue[Job] = queue.SimpleQueue()
        self._worker_id = ""
        self._heartbeat_seconds = 10.0
        self._max_wait_seconds = 20.0
        self._registration = threading.Lock()
        #: Asked to stop: no more polls.
        self._stopping = threading.Event()
        #: Everything is reported, or the grace period is over: no more requests.
        self._ended = threading.Event()
        self._wake_logs = threading.Event()
        self._beat_now = threading.Event()
        self._interrupt = Interrupt()
        self._fatal: Exception | None = None

    def stop(self) -> None:
        """Asks it to stop, as SIGTERM does: no new jobs, a grace period for the rest, then leave.

        May be called from any thread.
        """
        self._stopping.set()
        with self._changed:
            self._changed.notify_all()
        # Once the server knows that this worker takes no more jobs, those handed out before arrive,
        # and the open poll ends; at the latest after the second of these delays.
        self._beat_now.set()
        self._after(_LATEST_END_OF_POLL, self._interrupt.fire)

    def run(self) -> None:
        """Works until it is asked to stop. Raises permanent errors.

        Called on the main thread, it also handles SIGTERM and SIGINT meanwhile. A worker runs
        once.
        """
        before = self._take_signals()
        try:
            self._register("")
            polling = self._start(self._poll_loop, "poll")
            self._start(self._heartbeat_loop, "heartbeat")
            self._start(self._log_loop, "log")
            for number in range(self._capacity):
                self._start(self._work_loop, f"job-{number}")
            # In short steps: on some systems a signal handler runs only between two of them.
            while not self._stopping.wait(0.5):
                pass
            polling.join(_LATEST_END_OF_POLL + 1)
            self._drain()
            self._leave()
        except _Stopped:
            pass
        finally:
            self._ended.set()
            self._wake_logs.set()
            self._beat_now.set()
            self._http.close()
            for number, handler in before.items():
                signal.signal(number, handler)
        if self._fatal is not None:
            raise self._fatal

    # The work of the threads.

    def _poll_loop(self) -> None:
        failures = 0
        while not self._stopping.is_set():
            with self._changed:
                self._changed.wait_for(
                    lambda: self._stopping.is_set() or len(self._jobs) < self._capacity
                )
                free = self._capacity - len(self._jobs)
                known = list(self._jobs)
            if self._stopping.is_set():
                return
            worker_id = self._worker_id
            body = {
                "workerId": worker_id,
                "free": free,
                "waitSeconds": int(self._max_wait_seconds),
                # Other jobs that were handed out were lost on the way, and are handed out again.
                "jobs": known,
            }
            try:
                answer = self._http.post(
                    "/worker/v1/poll", body, self._max_wait_seconds + 15, self._interrupt
                )
                failures = failures if answer.get("drain") else 0
            except (ApiError, *Unanswered) as error:
                if self._stopping.is_set():
                    return
                if not self._recovers(error, worker_id):
                    delay = delay_after(failures, getattr(error, "retry_after", None))
                    failures += 1
                    _log.warning("poll: %s; trying again in %.1f s", error, delay)
                    self._stopping.wait(delay)
                continue
            for given in answer.get("jobs", []):
                self._accept(given, worker_id)
            self._stop_jobs(answer)
            if answer.get("drain"):
                # This server is stopping: the next connection leads to another one, or to this one
                # when it is back.
                self._http.close()
                self._stopping.wait(delay_after(failures))
                failures += 1

    def _heartbeat_loop(self) -> None:
        failures = 0
        delay = self._heartbeat_seconds
        while True:
            self._beat_now.wait(delay)
            self._beat_now.clear()
            if self._ended.is_set():
                return
            worker_id = self._worker_id
            with self._changed:
                held = [{"id": each.id, "token": each.token} for each in self._jobs.values()]
            is_draining = self._stopping.is_set()
            delay = self._heartbeat_seconds
            try:
                answer = self._http.post(
                    "/worker/v1/heartbeat",
                    {"workerId": worker_id, "jobs": held, "draining": is_draining},
                    self._heartbeat_seconds,
                )
                failures = 0
                if is_draining:
                    self._after(_END_OF_POLL, self._interrupt.fire)
            except (ApiError, *Unanswered) as error:
                if not self._recovers(error, worker_id):
                    delay = delay_after(failures, getattr(error, "retry_after", None))
                    # A lease is renewed in time, whatever the backoff.
                    delay = min(delay, self._heartbeat_seconds)
                    failures += 1
                    _log.warning("heartbeat: %s; trying again in %.1f s", error, delay)
                continue
            for job_id in answer.get("lost", []):
                self._cancel(job_id, "lost")
            self._stop_jobs(answer)

    def _log_loop(self) -> None:
        while not self._ended.is_set():
            self._wake_logs.wait(_LOG_INTERVAL)
            self._wake_logs.clear()
            with self._changed:
                jobs = list(self._jobs.values())
            for job in jobs:
                job.log.send_some()

    def _work_loop(self) -> None:
        while True:
            job = self._inbox.get()
            try:
                path, body = job.work(self._tasks.get(job.task))
                # The outcome of the job does not wait for all of its log lines.
                job.log.flush(_LAST_LINES)
                if not job.is_lost:
                    self._tell(job, path, body)
            except Exception as error:
                # A bug in this package must cost one job, and not the thread of many. The server
                # hands out a job again that is not reported.
                _log.exception("job %s of %s", job.id, job.task)
                message = f"the worker could not report it: {type(error).__name__}"
                with suppress(Exception):
                    self._tell(job, "fail", job.body(message=message, retry=True))
            finally:
                with self._changed:
                    if self._jobs.get(job.id) is job:
                        del self._jobs[job.id]
                    self._changed.notify_all()

    # Shared by the threads.

    def _register(self, stale_id: str) -> None:
        """Registers, unless another thread has done that since the worker was `stale_id`."""
        with self._registration:
            if self._worker_id != stale_id:
                return
            try:
                answer = call(
                    self._http, "/worker/v1/register", self._register_body, self._stopping, _retries
                )
            except ApiError as error:
                self._end_with(error)
                raise _Stopped from error
            except Unanswered as error:
                raise _Stopped from error
            if stale_id:
                # The server has given its jobs to other workers.
                self._lose_all()
            try:
                heartbeat, wait = float(answer["heartbeatSeconds"]), float(answer["maxWaitSeconds"])
                worker_id = str(answer["workerId"])
            except (KeyError, TypeError, ValueError) as error:
                self._end_with(
                    CarillonError(
                        "the answer to the registration cannot be read: is this a Carillon server?"
                    )
                )
                raise _Stopped from error
            self._heartbeat_seconds, self._max_wait_seconds = heartbeat, wait
            self._worker_id = worker_id
            _log.info("registered as worker %s", self._worker_id)

    def _recovers(self, error: Exception, worker_id: str) -> bool:
        """Handles an error of a poll or a heartbeat; returns false to wait and try again."""
        if not isinstance(error, ApiError) or error.is_passing:
            return False
        if error.status != 404:
            # The worker no longer takes part, and the outcome of its jobs cannot be reported.
            self._lose_all()
            self._end_with(error)
            return True
        _log.warning("the server has declared this worker lost; registering again")
        if self._stopping.is_set():
            self._lose_all()
            return False
        with suppress(_Stopped):
            self._register(worker_id)
        return True

    def _accept(self, given: dict[str, Any], worker_id: str) -> None:
        try:
            job = Job(given, self._http, worker_id, self._wake_logs.set)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            # Its lease expires, and the server gives it to another worker.
            _log.error("a job that cannot be read: %s: %s", type(error).__name__, error)
            return
        with self._changed:
            there = self._jobs.get(job.id)
            if there is not None and there.token == job.token:
                # Handed out again because the first answer seemed to be lost.
                return
            self._jobs[job.id] = job
        if there is not None:
            there.cancel("lost")
        self._inbox.put(job)

    def _stop_jobs(self, answer: dict[str, Any]) -> None:
        for job_id in answer.get("stop", []):
            self._cancel(job_id, "cancelled by the server")

    def _cancel(self, job_id: str, reason: str) -> None:
        with self._changed:
            job = self._jobs.get(job_id)
        if job is not None:
            job.cancel(reason)

    def _lose_all(self) -> None:
        with self._changed:
            held = list(self._jobs.values())
        for job in held:
            job.cancel("lost")

    def _tell(self, job: Job, path: str, body: dict[str, Any]) -> None:
        try:
            call(self._http, f"/worker/v1/{path}", body, self._ended, _retries)
        except Unanswered as error:
            _log.error("job %s: %s was not told: %s", job.id, path, error)
        except ApiError as error:
            if error.status in (404, 409):
                _log.info("job %s is another's or has ended: %s", job.id, error)
            elif path == "complete" and error.status in (400, 413):
                # For example, an output that is too large. Another attempt would return the same.
                said = f"the server refused the output: {error.message}"
                self._tell(job, "fail", job.body(message=said, retry=False))
            else:
                _log.error("job %s: %s: %s", job.id, path, error)

    def _drain(self) -> None:
        with self._changed:
            _log.info("draining: %d jobs at hand", len(self._jobs))
            if self._changed.wait_for(lambda: not self._jobs, self._grace):
                return
            held = list(self._jobs.values())
        _log.warning("the grace is over: %d jobs are given up", len(held))
        for job in held:
            job.cancel("the worker ends")
        # Jobs that respond to it can still report their outcome.
        with self._changed:
            self._changed.wait_for(lambda: not self._jobs, _LEAVE_PATIENCE)

    def _leave(self) -> None:
        # Nothing more is reported about jobs.
        self._ended.set()
        if isinstance(self._fatal, ApiError):
            return
        deadline = time.monotonic() + _LEAVE_PATIENCE
        failures = 0
        while True:
            try:
                with self._changed:
                    body = {"workerId": self._worker_id, "jobs": list(self._jobs)}
                self._http.post("/worker/v1/leave", body, _LEAVE_PATIENCE)
                return
            except (ApiError, *Unanswered) as error:
                passing = not isinstance(error, ApiError) or error.is_passing
                delay = delay_after(failures)
                failures += 1
                if not passing or time.monotonic() + delay > deadline:
                    # Its leases expire on their own.
                    _log.warning("leave: %s", error)
                    return
                time.sleep(delay)

    def _end_with(self, error: Exception) -> None:
        self._fatal = self._fatal or error
        _log.error("%s", error)
        self.stop()

    def _start(self, what: Any, name: str) -> threading.Thread:
        # Daemons: a function that does not end must not keep the process alive after the grace
        # period.
        thread = threading.Thread(target=what, name=f"carillon-{name}", daemon=True)
        thread.start()
        return thread

    def _after(self, seconds: float, what: Callable[[], None]) -> None:
        timer = threading.Timer(seconds, what)
        timer.daemon = True
        timer.start()

    def _take_signals(self) -> dict[int, Any]:
        if threading.current_thread() is not threading.main_thread():
            return {}

        def ask(_number: int, _frame: Any) -> None:
            # The handler may have interrupted code that holds a lock; another thread can wait for
            # it.
            threading.Thread(target=self.stop, name="carillon-stop", daemon=True).start()

        return {number: signal.signal(number, ask) for number in (signal.SIGTERM, signal.SIGINT)}


class _Stopped(Exception):
    """The worker was asked to stop before it had begun any work."""


def _retries(error: Exception, delay: float) -> None:
    _log.warning("%s; trying again in %.1f s", error, delay)
