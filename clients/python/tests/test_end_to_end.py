"""Tests against the built server at CARILLON_BINARY."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from real_server import RealServer, until

from carillon_worker import (
    ApiError,
    Context,
    DeployError,
    Permanent,
    Program,
    Task,
    Worker,
    scheduled,
)

_BINARY = os.environ.get("CARILLON_BINARY")
_PYTHON = Path(__file__).parent.parent

pytestmark = pytest.mark.skipif(not _BINARY, reason="CARILLON_BINARY names no server")


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealServer]:
    assert _BINARY is not None
    server = RealServer(str(Path(_BINARY).resolve()), tmp_path_factory.mktemp("carillon"))
    yield server
    server.close()


@pytest.fixture
def token(real: RealServer, request: pytest.FixtureRequest) -> str:
    return real.worker_token(queue_of(request.node.name))


@pytest.fixture
def queue(request: pytest.FixtureRequest) -> str:
    """A queue for this test only."""
    return queue_of(request.node.name)


def queue_of(test: str) -> str:
    return test.replace("test_", "", 1).replace("_", "-")[:60]


@contextmanager
def working(real: RealServer, token: str, *tasks: Task[..., Any], **more: Any) -> Iterator[Worker]:
    worker = Worker(real.url, token, tasks=tasks, **more)
    thread = threading.Thread(target=worker.run)
    thread.start()
    try:
        yield worker
    finally:
        worker.stop()
        thread.join(30)
        assert not thread.is_alive()


def test_deployed_code_runs(real: RealServer, token: str, queue: str) -> None:
    @scheduled(cron="0 2 * * *", zone="Europe/Berlin", queue=queue, name="report",
               input={"day": "{{ context.day }}", "copies": 2})  # fmt: skip
    def send_report(day: str, copies: int, ctx: Context) -> dict[str, Any]:
        ctx.log(f"sending {day}")
        ctx.log("with care", "stderr")
        return {"day": day, "copies": copies, "attempt": ctx.attempt, "schedule": ctx.schedule}

    @scheduled(cron="@daily", queue=queue)
    def refuses() -> None:
        raise Permanent("no such customer")

    @scheduled(cron="@daily", queue=queue, retry={"max_attempts": 3, "initial": "10ms"})
    def second_time(ctx: Context) -> int:
        if ctx.attempt == 1:
            raise RuntimeError("not yet")
        return ctx.attempt

    program = Program("first", tasks=[send_report, refuses, second_time])
    planned = program.deploy(real.url, real.deployer, dry_run=True)
    made = program.deploy(real.url, real.deployer)
    assert [each.name for each in made] == [each.name for each in planned]
    assert {"report", "refuses", "second_time"} <= set(real.schedules())
    # Deploying the same again changes nothing.
    again = program.deploy(real.url, real.deployer)
    assert {each.action for each in again} <= {"UNCHANGED"}

    with working(real, token, send_report, refuses, second_time):
        runs = [real.trigger("report", day="friday"), real.trigger("refuses")]
        runs.append(real.trigger("second_time"))
        report, refused, second = [real.settled(each) for each in runs]
    assert report["state"] == "SUCCEEDED"
    assert report["output"] == {"day": "friday", "copies": 2, "attempt": 1, "schedule": "report"}
    lines = until(lambda: real.log_of(runs[0]), lambda found: len(found) >= 2)
    assert lines[-2:] == [("STDOUT", "sending friday"), ("STDERR", "with care")]
    assert (refused["state"], refused["attempt"]) == ("FAILED", 1)
    assert "no such customer" in refused["error"]
    assert (second["state"], second["attempt"]) == ("SUCCEEDED", 2)


def test_wrong_input_fails_without_another_attempt(
    real: RealServer, token: str, queue: str
) -> None:
    @scheduled(cron="@daily", queue=queue, name="counts", retry={"max_attempts": 5})
    def count_up(count: int) -> None: ...

    Program("counting", tasks=[count_up]).deploy(real.url, real.deployer)
    with working(real, token, count_up):
        found = real.settled(real.trigger("counts", count="three"))
    assert (found["state"], found["attempt"]) == ("FAILED", 1)
    assert "count: must be a whole number, and is a text" in found["error"]


def test_a_cancelled_run_reaches_its_function(real: RealServer, token: str, queue: str) -> None:
    began, reasons = threading.Event(), []

    @scheduled(cron="@daily", queue=queue)
    def waits_for_the_end(ctx: Context) -> None:
        began.set()
        assert ctx.cancelled.wait(60)
        reasons.append(ctx.cancel_reason)

    Program("cancelling", tasks=[waits_for_the_end]).deploy(real.url, real.deployer)
    with working(real, token, waits_for_the_end):
        run = real.trigger("waits_for_the_end")
        assert began.wait(60)
        real.cancel(run)
        assert real.settled(run)["state"] == "CANCELLED"
        until(lambda: reasons, bool)
    assert len(reasons) == 1


def test_a_worker_that_leaves_gives_its_jobs_to_others(
    real: RealServer, token: str, queue: str
) -> None:
    began = threading.Event()
    end = threading.Event()

    @scheduled(cron="@daily", queue=queue, retry={"max_attempts": 3, "initial": "10ms"})
    def moves(ctx: Context) -> int:
        if ctx.attempt == 1:
            began.set()
            end.wait(60)
        return ctx.attempt

    Program("moving", tasks=[moves]).deploy(real.url, real.deployer)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("carillon_worker._worker._LEAVE_PATIENCE", 0.1)
        with working(real, token, moves, grace=0.1):
            run = real.trigger("moves")
            assert began.wait(60)
    with working(real, token, moves):
        found = real.settled(run)
    end.set()
    last = found["tasks"][0]["attempts"][-1]
    assert (found["state"], last["output"]["value"]) == ("SUCCEEDED", 2)


def test_a_token_opens_its_queues_only(real: RealServer, token: str) -> None:
    with pytest.raises(ApiError) as caught:
        Worker(real.url, token, queues=["of-others"], tasks=[]).run()
    assert caught.value.status == 403
    with pytest.raises(ApiError) as caught:
        Worker(real.url, "carillon_wrong", queues=["of-others"], tasks=[]).run()
    assert caught.value.status == 401
    with pytest.raises(DeployError):
        Program("forbidden", tasks=[]).deploy(real.url, token)


def test_a_bad_declaration_changes_nothing(real: RealServer, queue: str) -> None:
    @scheduled(cron="0 25 * * *", queue=queue)
    def never_deployed() -> None: ...

    with pytest.raises(DeployError, match="never_deployed"):
        Program("broken", tasks=[never_deployed]).deploy(real.url, real.deployer)
    assert "never_deployed" not in real.schedules()


_ROLLING = """
import sys
from carillon_worker import Context, Program, Worker, scheduled

url, deployer, token, queue, version = sys.argv[1:]

@scheduled(cron="@daily", queue=queue, name="rolling", retry={"max_attempts": 5, "initial": "10ms"})
def rolling(number: int) -> dict[str, object]:
    return {"number": number, "version": version}

if version == "1":
    @scheduled(cron="@daily", queue=queue)
    def only_in_1() -> None: ...
else:
    @scheduled(cron="@daily", queue=queue)
    def only_in_2() -> None: ...

Program("rolled").deploy(url, deployer)
Worker(url, token, name=f"worker-{version}", version=version, capacity=4).run()
"""


def test_a_rolling_deploy_loses_and_doubles_nothing(
    real: RealServer, token: str, queue: str
) -> None:
    def start(version: str) -> subprocess.Popen[bytes]:
        args = [real.url, real.deployer, token, queue, version]
        environment = {**os.environ, "PYTHONPATH": str(_PYTHON / "src")}
        program = textwrap.dedent(_ROLLING)
        return subprocess.Popen([sys.executable, "-c", program, *args], env=environment)

    def trigger(numbers: range) -> list[str]:
        return [real.trigger("rolling", number=number) for number in numbers]

    def declared() -> set[str]:
        return {"rolling", "only_in_1", "only_in_2"} & set(real.schedules())

    processes = [start("1")]
    try:
        until(declared, lambda names: names == {"rolling", "only_in_1"})
        runs = trigger(range(20))
        processes.append(start("2"))
        # The module that was deployed last wins, and the old program keeps working on its queue.
        until(declared, lambda names: names == {"rolling", "only_in_2"})
        runs += trigger(range(20, 60))
        processes[0].send_signal(signal.SIGTERM)
        assert processes[0].wait(60) == 0
        runs += trigger(range(60, 80))
        found = [real.settled(run) for run in runs]
        processes[1].send_signal(signal.SIGTERM)
        assert processes[1].wait(60) == 0
    finally:
        for process in processes:
            process.kill()
            process.wait()
    assert Counter(each["state"] for each in found) == {"SUCCEEDED": 80}
    assert [each["output"]["number"] for each in found] == list(range(80))
    # Once the old program has left, the new one does everything.
    assert {each["output"]["version"] for each in found[60:]} == {"2"}


def test_a_server_that_starts_again_is_found(real: RealServer, token: str, queue: str) -> None:
    @scheduled(cron="@daily", queue=queue)
    def survives() -> str:
        return "here"

    Program("surviving", tasks=[survives]).deploy(real.url, real.deployer)
    with working(real, token, survives):
        assert real.settled(real.trigger("survives"))["state"] == "SUCCEEDED"
        real.stop()
        real.start()
        assert real.settled(real.trigger("survives"))["state"] == "SUCCEEDED"
