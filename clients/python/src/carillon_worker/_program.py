"""A program's declarations as one module of the server."""

from __future__ import annotations

import json
import logging
import ssl
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ._declare import Registry, Task, declared
from ._errors import ApiError, DeployError
from ._http import Http, Unanswered, call

_log = logging.getLogger("carillon_worker")

_DEPLOY = """
mutation Deploy($source: String!, $dryRun: Boolean!, $adopt: Boolean!, $reason: String) {
  deployModule(source: $source, format: YAML, dryRun: $dryRun, prune: true, adopt: $adopt,
      reason: $reason) {
    changes { action kind name detail }
  }
}
"""


@dataclass(frozen=True)
class Change:
    """What a deployment did to one object, or would do."""

    action: str
    kind: str
    name: str
    detail: str | None


class Program:
    """The declarations of the code, as a module of its own with this name."""

    def __init__(
        self,
        name: str,
        namespace: str = "default",
        tasks: Iterable[Task[..., Any]] | None = None,
    ) -> None:
        """`tasks` defaults to all that are declared when the module is built."""
        self.name = name
        self.namespace = namespace
        self._tasks = None if tasks is None else Registry()
        for task in tasks or ():
            assert self._tasks is not None
            self._tasks.add(task)

    def module(self) -> dict[str, Any]:
        """The module file for the program's declarations."""
        schedules: dict[str, Any] = {}
        for task in (self._tasks or declared).tasks.values():
            for schedule in task.schedules:
                worker: dict[str, Any] = {"queue": task.queue, "task": task.name}
                if schedule.input is not None:
                    worker["input"] = dict(schedule.input)
                if schedule.worker_tags:
                    worker["tags"] = list(schedule.worker_tags)
                schedules[schedule.name] = {
                    **schedule.keys,
                    "task": {**schedule.task_keys, "target": {"worker": worker}},
                }
        return {"module": self.name, "namespace": self.namespace, "schedules": schedules}

    def deploy(
        self,
        url: str,
        token: str,
        *,
        dry_run: bool = False,
        adopt: bool = False,
        reason: str | None = None,
        timeout: float = 60.0,
        tls: ssl.SSLContext | None = None,
    ) -> list[Change]:
        """Replaces the program's earlier declarations by the current ones, all at once.

        A schedule that the code no longer has is deleted. It retries for `timeout`
        seconds while the server is unreachable. The token needs the role EDITOR in the namespace.
        """
        # JSON is also valid YAML, so no YAML writer is needed.
        variables = {
            "source": json.dumps(self.module(), ensure_ascii=False, allow_nan=False),
            "dryRun": dry_run,
            "adopt": adopt,
            "reason": reason,
        }
        http = Http(url, token, tls)
        given_up = threading.Event()
        timer = threading.Timer(timeout, given_up.set)
        timer.daemon = True
        timer.start()
        try:
            answer = call(http, "/graphql", {"query": _DEPLOY, "variables": variables}, given_up)
        except (ApiError, *Unanswered) as error:
            raise DeployError(f"module {self.name}: {error}") from error
        finally:
            timer.cancel()
            http.close()
        errors = answer.get("errors")
        if errors:
            said = "; ".join(str(each.get("message")) for each in errors)
            raise DeployError(f"module {self.name}: {said}")
        found = answer["data"]["deployModule"]["changes"]
        changes = [Change(**{key: each[key] for key in Change.__annotations__}) for each in found]
        for change in changes:
            _log.info("module %s: %s %s %s", self.name, change.action, change.kind, change.name)
        return changes
