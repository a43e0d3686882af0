from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date, datetime, timezone
from enum import Enum
from typing import Any, Literal, Optional

import pytest
from fake_server import job

from carillon_worker import (
    Context,
    DeclarationError,
    InputError,
    Program,
    Task,
    Worker,
    scheduled,
    task,
)
from carillon_worker._http import Http
from carillon_worker._job import Job


class Size(Enum):
    SMALL = "small"
    LARGE = "large"


@dataclass
class Line:
    article: str
    count: int = 1
    tags: list[str] = field(default_factory=list)


@dataclass
class Order:
    lines: list[Line]
    size: Size = Size.SMALL
    note: str | None = None


def take(made: Task[..., Any], given: Any) -> dict[str, Any]:
    held = Job(job(made.name, given), Http("http://localhost", ""), "w", lambda: None)
    return made.signature.arguments(given, held.context)


def test_parameters_are_the_fields_of_the_input() -> None:
    @task(queue="orders")
    def place(
        order: Order,
        at: datetime,
        day: date,
        kind: Literal["new", "old"],
        rates: dict[str, float],
        limit: Optional[int] = None,  # noqa: UP045
    ) -> None: ...

    given = {
        "order": {"lines": [{"article": "a", "count": 2}], "size": "large"},
        "at": "2026-11-26T02:00:00Z",
        "day": "2026-11-26",
        "kind": "new",
        "rates": {"eur": 1},
        "limit": 5,
    }
    assert take(place, given) == {
        "order": Order([Line("a", 2)], Size.LARGE),
        "at": datetime(2026, 11, 26, 2, tzinfo=timezone.utc),
        "day": date(2026, 11, 26),
        "kind": "new",
        "rates": {"eur": 1.0},
        "limit": 5,
    }


def test_a_single_dataclass_is_the_whole_input() -> None:
    @task(queue="orders")
    def place(order: Order, ctx: Context) -> None: ...

    assert take(place, {"lines": []})["order"] == Order([])
    with pytest.raises(InputError, match=r"^lines\[1\]\.count: must be a whole number"):
        take(place, {"lines": [{"article": "a"}, {"article": "b", "count": 1.5}]})


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({}, "count: is missing"),
        ({"count": True}, "count: must be a whole number, and is true or false"),
        ({"count": 1, "size": "huge"}, "size: must be one of 'small', 'large'"),
        ({"count": 1, "sizes": "small"}, "sizes: is not a field; there is count, size, day"),
        ({"count": 1, "day": "26.11."}, "day: must be a day such as 2026-11-26, and is a text"),
        ({"count": 1, "day": None}, "day: must be a day such as 2026-11-26, and is null"),
        ([], "input: must be an object, and is a list"),
    ],
)
def test_wrong_input_names_the_field(given: Any, problem: str) -> None:
    @task(queue="orders")
    def place(count: int, size: Size = Size.SMALL, day: date = date(2026, 1, 1)) -> None: ...

    with pytest.raises(InputError) as caught:
        take(place, given)
    assert str(caught.value).startswith(problem)


def test_what_cannot_be_read_is_refused_where_it_is_declared() -> None:
    def untyped(a) -> None: ...  # type: ignore[no-untyped-def]
    def many(*a: int) -> None: ...
    def opaque(a: list[Callable[[], None]]) -> None: ...
    def number_keys(a: dict[int, str]) -> None: ...

    cases: list[tuple[Callable[..., None], str]] = [
        (untyped, "the parameter a has no annotation"),
        (many, "the parameter \\*a"),
        (opaque, "the parameter a has the type .*Callable"),
        (number_keys, "the parameter a has the type dict\\[int, str\\]"),
    ]
    for function, problem in cases:
        with pytest.raises(DeclarationError, match=problem):
            task(queue="orders")(function)


def test_an_annotation_may_name_what_comes_later() -> None:
    @task(queue="orders")
    def place(later: Later) -> None: ...  # type: ignore[name-defined]  # noqa: F821

    with pytest.raises(DeclarationError, match="'Later' is not defined"):
        Worker("http://localhost", "secret")
    globals()["Later"] = Line
    try:
        Worker("http://localhost", "secret")
        assert take(place, {"article": "a"}) == {"later": Line("a")}
    finally:
        del globals()["Later"]


def test_a_program_is_a_module() -> None:
    @scheduled(cron="0 2 * * *", zone="Europe/Berlin", queue="emails", timeout="10m",
               retry={"max_attempts": 5}, note="nightly", tags=["mail"],
               input={"day": "{{ scheduled_at[:10] }}"})  # fmt: skip
    def send_report(day: str) -> None: ...

    @scheduled(cron=["@every 6h", "@daily"], name="tidy-up", overlap="allow", worker_tags=["gpu"],
               options={"misfire": {"catch_up": "all"}})  # fmt: skip
    @task(queue="chores", name="tidy")
    def tidy_everything() -> None: ...

    @task(queue="chores")
    def by_hand() -> None: ...

    assert send_report("today") is None
    assert Program("billing", "eu").module() == {
        "module": "billing",
        "namespace": "eu",
        "schedules": {
            "send_report": {
                "when": "0 2 * * *",
                "zone": "Europe/Berlin",
                "overlap": "skip",
                "note": "nightly",
                "tags": ["mail"],
                "task": {
                    "timeout": "10m",
                    "retry": {"max_attempts": 5},
                    "target": {
                        "worker": {
                            "queue": "emails",
                            "task": "send_report",
                            "input": {"day": "{{ scheduled_at[:10] }}"},
                        }
                    },
                },
            },
            "tidy-up": {
                "misfire": {"catch_up": "all"},
                "when": ["@every 6h", "@daily"],
                "zone": "UTC",
                "overlap": "allow",
                "task": {
                    "target": {"worker": {"queue": "chores", "task": "tidy", "tags": ["gpu"]}}
                },
            },
        },
    }
    assert Program("billing", tasks=[by_hand]).module()["schedules"] == {}


def test_one_name_declared_twice_differently_is_an_error() -> None:
    @task(queue="orders")
    def place() -> None: ...

    with pytest.raises(DeclarationError, match="two functions declare the task place"):

        @task(queue="orders", name="place")
        def other() -> None: ...

    @scheduled(cron="@daily", queue="orders", name="daily")
    def one() -> None: ...

    with pytest.raises(DeclarationError, match="two declare the schedule daily"):

        @scheduled(cron="@daily", queue="orders", name="daily")
        def two() -> None: ...

    with pytest.raises(DeclarationError, match="two declare the schedule daily"):
        scheduled(cron="@hourly", name="daily")(one)


def test_a_file_that_is_read_twice_declares_once() -> None:
    source = """
from carillon_worker import scheduled
@scheduled(cron="@daily", queue="orders")
def place() -> None: ...
"""
    code = compile(source, "app.py", "exec")
    for name in ("__main__", "app"):
        exec(code, {"__name__": name})
    assert list(Program("orders").module()["schedules"]) == ["place"]


def test_names_and_queues_are_checked() -> None:
    def place() -> None: ...

    with pytest.raises(DeclarationError, match="'no/good' is not a valid task name"):
        task(queue="good", name="no/good")(place)
    with pytest.raises(DeclarationError, match="'no good' is not a valid schedule name"):
        scheduled(cron="@daily", queue="good", name="no good")(place)
    with pytest.raises(DeclarationError, match="'No' is not a valid queue name"):
        task(queue="No")(place)
    with pytest.raises(DeclarationError, match="name the queue"):
        scheduled(cron="@daily")(place)
    with pytest.raises(DeclarationError, match="for the queues a and b"):
        scheduled(cron="@daily", queue="b")(task(queue="a")(place))
    with pytest.raises(DeclarationError, match="options: task"):
        scheduled(cron="@daily", queue="a", options={"task": {}})
