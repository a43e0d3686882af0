from __future__ import annotations

import asyncio
import logging
import os
import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from fake_server import HANG_UP, FakeServer, error, job

from carillon_worker import ApiError, CarillonError, Context, LogHandler, Permanent, Worker, task
from carillon_worker._http import Http, call, delay_after


@contextmanager
def running(server: FakeServer, **settings: Any) -> Iterator[Worker]:
    worker = Worker(server.url, "secret", **{"name": "mailer-1", "queues": ["emails"], **settings})
    thread = threading.Thread(target=worker.run)
    thread.start()
    try:
        yield worker
    finally:
        worker.stop()
        thread.join(20)
        assert not thread.is_alive()


def test_a_job_runs_with_typed_input_and_its_output_is_told(server: FakeServer) -> None:
    @dataclass
    class Sent:
        to: str
        count: int

    @task(queue="emails")
    def send(to: str, ctx: Context, copies: int = 1) -> Sent:
        assert (ctx.schedule, ctx.schedule_id) == ("nightly", "schedule-1")
        assert ctx.schedule_version == 3
        assert ctx.scheduled_at is not None
        assert ctx.scheduled_at.isoformat() == "2026-11-26T02:00:00+00:00"
        return Sent(to, copies)

    with running(server, capacity=3, tags=["eu"], version="7"):
        server.give(job("send", {"to": "ada"}))
        (told,) = server.wait_for("complete")
    assert told == {
        "workerId": "worker-1",
        "id": "job-send",
        "token": "fence-1",
        "output": {"to": "ada", "count": 1},
    }
    (registered,) = server.bodies("register")
    assert registered.pop("client").startswith("carillon-worker-python/")
    assert registered == {
        "protocol": 1,
        "namespace": "default",
        "name": "mailer-1",
        "queues": ["emails"],
        "tags": ["eu"],
        "capacity": 3,
        "version": "7",
    }
    asked = {"workerId": "worker-1", "free": 3, "waitSeconds": 20, "jobs": []}
    assert server.bodies("poll")[0] == asked
    assert server.bodies("leave") == [{"workerId": "worker-1", "jobs": []}]


def test_failures_say_why_and_whether_to_try_again(server: FakeServer) -> None:
    @task(queue="emails")
    def breaks() -> None:
        raise ValueError("no paper")

    @task(queue="emails")
    def refuses() -> None:
        raise Permanent("no such customer")

    @task(queue="emails")
    def says_nothing() -> None:
        raise Permanent(" ")

    @task(queue="emails")
    def exits() -> None:
        sys.exit(3)

    @task(queue="emails")
    def typed(count: int) -> None: ...

    @task(queue="emails")
    def opaque() -> object:
        return object()

    with running(server):
        server.give(
            job("breaks"), job("refuses"), job("exits"), job("typed", {"count": "3"}),
            job("opaque"), job("unknown"), job("says_nothing"),
        )  # fmt: skip
        told = {each["id"]: each for each in server.wait_for("fail", 7)}
    expected = {
        "job-breaks": ("ValueError: no paper", True),
        "job-refuses": ("no such customer", False),
        "job-says_nothing": ("the function gave no reason", False),
        "job-exits": ("SystemExit: 3", True),
        "job-typed": ("count: must be a whole number, and is a text", False),
        "job-opaque": (
            "what opaque gave back is not JSON: a object cannot be written as JSON",
            False,
        ),
        "job-unknown": (
            "this worker has no task named 'unknown'; during a rolling deploy another one may "
            "have it",
            True,
        ),
    }
    assert {key: (each["message"], each["retry"]) for key, each in told.items()} == expected
    lines = [line for each in server.bodies("log") for line in each["lines"]]
    assert {"stream": "stderr", "text": "ValueError: no paper"} in lines


def test_what_is_not_answered_is_told_again(server: FakeServer) -> None:
    @task(queue="emails")
    def send() -> str:
        return "sent"

    server.scripted["register"].extend([error(503, "UNAVAILABLE", "0"), HANG_UP])
    server.scripted["poll"].extend([HANG_UP, error(429, "RATE_LIMITED", "0"), error(408, "X")])
    server.scripted["complete"].extend([HANG_UP, error(503, "UNAVAILABLE", "0"), error(500, "X")])
    with running(server):
        server.give(job("send"))
        told = server.wait_for("complete", 4)
    assert told == [told[0]] * len(told)
    assert told[0]["output"] == "sent"


def test_a_request_that_is_not_answered_ends_in_its_time(server: FakeServer) -> None:
    given_up = threading.Event()
    given_up.set()
    http = Http(server.url, "secret")
    # The server answers no poll as long as there is no job.
    with pytest.raises(TimeoutError):
        call(http, "/worker/v1/poll", {"workerId": "worker-0", "free": 1}, given_up, timeout=0.1)


def test_stale_work_is_dropped(server: FakeServer) -> None:
    @task(queue="emails")
    def send() -> None: ...

    server.scripted["complete"].append(error(409, "STALE"))
    with running(server):
        server.give(job("send"))
        server.wait_for("complete")
        server.give(job("send", token="fence-2"))
        told = server.wait_for("complete", 2)
    assert [each["token"] for each in told] == ["fence-1", "fence-2"]
    assert server.bodies("fail") == []


def test_a_refused_output_fails_the_job(server: FakeServer) -> None:
    @task(queue="emails")
    def send() -> str:
        return "x" * 100

    server.scripted["complete"].append(error(400, "BAD_USER_INPUT"))
    with running(server):
        server.give(job("send"))
        (told,) = server.wait_for("fail")
    assert told["message"] == "the server refused the output: says BAD_USER_INPUT"
    assert told["retry"] is False


def test_an_output_with_a_name_that_is_not_utf_8_fails_the_job(server: FakeServer) -> None:
    @task(queue="emails")
    def lists() -> list[str]:
        # As os.listdir() returns it.
        return ["caf\udce9"]

    with running(server):
        server.give(job("lists"))
        (told,) = server.wait_for("fail")
    assert told["message"].startswith("what lists gave back is not JSON: 'utf-8' codec can't")
    assert told["retry"] is False


def test_a_failure_that_cannot_be_described_fails_the_job(server: FakeServer) -> None:
    class Silent(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no words")

    @task(queue="emails")
    def breaks() -> None:
        raise Silent

    with running(server):
        server.give(job("breaks"))
        (told,) = server.wait_for("fail")
    assert told["message"] == "the worker could not report it: RuntimeError"
    assert told["retry"] is True


def test_an_answer_of_another_kind_does_not_end_the_polls(server: FakeServer) -> None:
    @task(queue="emails")
    def send() -> None: ...

    other: Any = []
    server.scripted["poll"].append((200, other, {}))
    with running(server):
        server.give(job("send"))
        server.wait_for("complete")


def test_another_server_ends_the_worker(server: FakeServer) -> None:
    server.scripted["register"].append((200, {"status": "ok"}, {}))
    with pytest.raises(CarillonError, match="is this a Carillon server"):
        Worker(server.url, "secret", queues=["emails"]).run()


def test_a_worker_declared_lost_registers_again_and_drops_its_jobs(server: FakeServer) -> None:
    began, seen = threading.Event(), []

    @task(queue="emails")
    def waits(ctx: Context) -> None:
        began.set()
        assert ctx.cancelled.wait(20)
        seen.append(ctx.cancel_reason)

    @task(queue="emails")
    def send() -> None: ...

    server.heartbeat_seconds = 0.05
    with running(server):
        server.give(job("waits"))
        assert began.wait(20)
        server.scripted["heartbeat"].append(error(404, "NOT_FOUND"))
        server.wait_for("register", 2)
        server.give(job("send"))
        (told,) = server.wait_for("complete")
    assert seen == ["lost"]
    assert (told["id"], told["workerId"]) == ("job-send", "worker-2")
    assert server.bodies("fail") == []
    assert server.bodies("leave") == [{"workerId": "worker-2", "jobs": []}]


@pytest.mark.parametrize("how", ["poll", "heartbeat"])
def test_a_function_sees_that_it_is_to_stop(server: FakeServer, how: str) -> None:
    began = threading.Event()

    @task(queue="emails")
    def waits(ctx: Context) -> None:
        began.set()
        assert ctx.cancelled.wait(20)
        raise RuntimeError(f"stopped: {ctx.cancel_reason}")

    server.heartbeat_seconds = 0.05
    # A worker without a free slot does not poll.
    with running(server, capacity=2 if how == "poll" else 1):
        server.give(job("waits"))
        assert began.wait(20)
        server.ask_to_stop("job-waits")
        (told,) = server.wait_for("fail")
    assert told["message"] == "RuntimeError: stopped: cancelled by the server"


def test_an_async_function_is_cancelled(server: FakeServer) -> None:
    began = threading.Event()

    @task(queue="emails")
    async def waits() -> None:
        began.set()
        await asyncio.Event().wait()

    @task(queue="emails")
    async def adds(a: int, b: int) -> int:
        return a + b

    with running(server):
        server.give(job("waits"), job("adds", {"a": 1, "b": 2}))
        assert began.wait(20)
        assert server.wait_for("complete")[0]["output"] == 3
        server.ask_to_stop("job-waits")
        (told,) = server.wait_for("fail")
    assert told["message"] == "ended, as asked: cancelled by the server"


def test_log_lines_come_in_order_in_batches_and_before_the_end(server: FakeServer) -> None:
    logger = logging.getLogger("mailer")
    logger.addHandler(LogHandler())
    logger.setLevel(logging.INFO)

    @task(queue="emails")
    def talks(ctx: Context) -> None:
        for number in range(450):
            ctx.log(f"line {number}")
        logger.warning("by logging\nin two lines")
        ctx.log("x" * 20_000, "stderr")

    with running(server):
        server.give(job("talks"))
        server.wait_for("complete")
    batches = [each["lines"] for each in server.bodies("log")]
    assert all(len(each) <= 200 for each in batches)
    lines = [line for each in batches for line in each]
    assert [each["text"] for each in lines[:450]] == [f"line {number}" for number in range(450)]
    assert lines[450:452] == [
        {"stream": "stderr", "text": "by logging"},
        {"stream": "stderr", "text": "in two lines"},
    ]
    assert lines[452]["text"] == "x" * 16_378 + " [cut]"
    order = [path for path, _ in server.requests if path in ("log", "complete")]
    assert order[-1] == "complete"


def test_a_flood_of_lines_is_bounded(server: FakeServer) -> None:
    @task(queue="emails")
    def floods(ctx: Context) -> None:
        ctx.log("\n".join("x" for _ in range(30_000)))

    with running(server):
        server.give(job("floods"))
        server.wait_for("complete")
    lines = [line["text"] for each in server.bodies("log") for line in each["lines"]]
    assert lines[-1] == "[carillon] 20000 lines were dropped: they came too fast"
    assert len(lines) == 10_001


def test_a_job_that_prints_without_end_delays_no_other(server: FakeServer) -> None:
    done = threading.Event()

    @task(queue="emails")
    def chatters(ctx: Context) -> None:
        while not done.wait(0.0001):
            ctx.log("\n".join("x" for _ in range(200)))

    @task(queue="emails")
    def tells(ctx: Context) -> None:
        ctx.log("begun")
        assert done.wait(20)

    with running(server):
        server.give(job("chatters"))
        server.wait_for("log")
        server.give(job("tells"))
        try:
            server.wait(
                lambda: any(
                    path == "log" and body["id"] == "job-tells" for path, body in server.requests
                )
            )
        finally:
            done.set()


def test_a_lease_is_extended(server: FakeServer) -> None:
    @task(queue="emails")
    def works(ctx: Context) -> float:
        return ctx.extend(120)

    with running(server):
        server.give(job("works"))
        assert server.wait_for("complete")[0]["output"] == 120.0
    (asked,) = server.bodies("extend")
    assert (asked["seconds"], asked["token"]) == (120, "fence-1")


def test_heartbeats_name_what_is_held_and_no_more_than_capacity_is_asked_for(
    server: FakeServer,
) -> None:
    release = threading.Event()

    @task(queue="emails")
    def waits() -> None:
        assert release.wait(20)

    server.heartbeat_seconds = 0.05
    with running(server, capacity=2):
        server.give(job("waits", id="a"), job("waits", id="b"), job("waits", id="c"))

        def held() -> set[str]:
            beats = [body for path, body in server.requests if path == "heartbeat"]
            return {each["id"] for each in beats[-1]["jobs"]} if beats else set()

        server.wait(lambda: held() == {"a", "b"})
        assert all(each["free"] > 0 for each in server.bodies("poll"))
        release.set()
        server.wait_for("complete", 3)


def test_a_server_that_is_being_stopped_is_asked_again(server: FakeServer) -> None:
    @task(queue="emails")
    def send() -> None: ...

    answer: dict[str, Any] = {"jobs": [], "stop": [], "drain": True}
    server.scripted["poll"].extend([(200, answer, {}), (200, answer, {})])
    with running(server):
        server.wait_for("poll", 3)
        server.give(job("send"))
        server.wait_for("complete")
    assert server.registered == 1


def test_a_worker_that_is_asked_to_end_says_so_at_once(server: FakeServer) -> None:
    began = threading.Event()
    release = threading.Event()

    @task(queue="emails")
    def waits() -> None:
        began.set()
        assert release.wait(20)

    with running(server) as worker:
        server.give(job("waits"))
        assert began.wait(20)
        worker.stop()
        (told,) = server.wait_for("heartbeat")
        release.set()
        server.wait_for("complete")
    held = [{"id": "job-waits", "token": "fence-1"}]
    assert told == {"workerId": "worker-1", "jobs": held, "draining": True}


def test_a_job_on_its_way_as_the_worker_is_asked_to_end_is_not_lost(server: FakeServer) -> None:
    @task(queue="emails")
    def send() -> None: ...

    with running(server) as worker:
        server.wait_for("poll")
        worker.stop()
        server.give(job("send"))
        server.wait_for("complete")
        server.wait_for("leave")
    assert [path for path, _ in server.requests if path in ("complete", "leave")] == [
        "complete",
        "leave",
    ]


def test_what_does_not_end_within_the_grace_is_left(server: FakeServer) -> None:
    began, end = threading.Event(), threading.Event()

    @task(queue="emails")
    def obeys(ctx: Context) -> None:
        assert ctx.cancelled.wait(20)
        raise RuntimeError(str(ctx.cancel_reason))

    @task(queue="emails")
    def ignores() -> None:
        began.set()
        end.wait(30)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("carillon_worker._worker._LEAVE_PATIENCE", 0.5)
        with running(server, grace=0.05) as worker:
            server.give(job("obeys"), job("ignores"))
            assert began.wait(20)
            worker.stop()
            server.wait_for("leave")
    end.set()
    (told,) = server.bodies("fail")
    assert told["message"] == "RuntimeError: the worker ends"
    assert len(server.bodies("leave")) == 1


@pytest.mark.parametrize(
    ("status", "code"), [(401, "UNAUTHENTICATED"), (403, "FORBIDDEN"), (426, "PROTOCOL")]
)
@pytest.mark.parametrize("path", ["register", "poll"])
def test_what_cannot_get_better_ends_the_worker(
    server: FakeServer, path: str, status: int, code: str
) -> None:
    server.scripted[path].append(error(status, code))
    with pytest.raises(ApiError, match=code) as caught:
        Worker(server.url, "secret", queues=["emails"]).run()
    assert caught.value.status == status


def test_a_worker_says_what_it_lacks() -> None:
    with pytest.raises(CarillonError, match="without queues"):
        Worker("http://localhost", "secret")
    with pytest.raises(CarillonError, match="capacity must be at least 1"):
        Worker("http://localhost", "secret", queues=["emails"], capacity=0)
    with pytest.raises(CarillonError, match=r"must be http\(s\)://HOST"):
        Worker("localhost:8080", "secret", queues=["emails"])


def test_delays_grow_to_a_bound_and_heed_the_server() -> None:
    assert 0.1 <= delay_after(0) <= 0.2
    assert 7.5 <= delay_after(60) <= 15
    assert delay_after(0, 30.0) >= 30


def test_sigterm_drains_a_process(server: FakeServer) -> None:
    program = textwrap.dedent(
        f"""
        import sys
        from carillon_worker import Context, Worker, task

        @task(queue="emails")
        def waits(ctx: Context) -> str:
            ctx.log("began")
            return sys.stdin.readline()

        Worker({server.url!r}, "secret", capacity=1).run()
        """
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program],
        stdin=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": "src"},
        cwd=os.path.dirname(os.path.dirname(os.path.abspath(__file__))),
    )
    try:
        server.give(job("waits"))
        server.wait_for("log")
        process.send_signal(signal.SIGTERM)
        assert server.wait_for("heartbeat")[0]["draining"]
        process.communicate("done", timeout=20)
        assert process.returncode == 0
    finally:
        process.kill()
        process.wait()
    assert server.bodies("complete")[0]["output"] == "done"
    assert server.bodies("leave") == [{"workerId": "worker-1", "jobs": []}]
