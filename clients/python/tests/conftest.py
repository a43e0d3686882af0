from __future__ import annotations

from collections.abc import Iterator

import pytest
from fake_server import FakeServer

from carillon_worker import _declare


@pytest.fixture(autouse=True)
def declared(monkeypatch: pytest.MonkeyPatch) -> _declare.Registry:
    """Each test has its own declarations."""
    registry = _declare.Registry()
    for module in ("_declare", "_program", "_worker"):
        monkeypatch.setattr(f"carillon_worker.{module}.declared", registry)
    return registry


@pytest.fixture
def server() -> Iterator[FakeServer]:
    fake = FakeServer()
    yield fake
    fake.close()
