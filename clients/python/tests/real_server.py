"""The built server, on a free port of the loopback, with a database in a temporary folder."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
import time
import urllib.request
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

_PATIENCE = 60.0


class RealServer:
    def __init__(self, binary: str, folder: Path) -> None:
        self._binary = binary
        self._folder = folder
        self._environment = {
            "PATH": os.environ.get("PATH", ""),
            "HOME": str(folder),
            "CARILLON_DATABASE__URL": f"sqlite:{folder / 'carillon.db'}",
        }
        self.url = ""
        self._listen = "127.0.0.1:0"
        self.start()
        self.deployer = self.cli("token", "create", "deployer", "--role", "admin").strip()

    def start(self) -> None:
        log = (self._folder / "server.log").open("ab")
        self._process = subprocess.Popen(
            [self._binary, "serve", "--listen", self._listen],
            cwd=self._folder,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
        )
        log.close()
        assert self._process.stdout is not None
        for line in self._process.stdout:
            text = line.decode().strip()
            if text.startswith("Carillon is ready at "):
                self.url = text.removeprefix("Carillon is ready at ")
                # When it restarts, it uses the same address.
                self._listen = self.url.removeprefix("http://")
                break
        else:
            raise AssertionError((self._folder / "server.log").read_text())
        # A full pipe would block the server.
        threading.Thread(target=self._process.stdout.read, daemon=True).start()

    def stop(self) -> None:
        self._process.send_signal(signal.SIGTERM)
        self._process.wait(_PATIENCE)

    def close(self) -> None:
        self._process.kill()
        self._process.wait()

    def cli(self, *args: str) -> str:
        return subprocess.run(
            [self._binary, *args],
            cwd=self._folder,
            env={**self._environment, "CARILLON_SERVER": self.url},
            check=True,
            capture_output=True,
            text=True,
        ).stdout

    def ask(self, query: str, **variables: Any) -> Any:
        request = urllib.request.Request(
            f"{self.url}/graphql",
            json.dumps({"query": query, "variables": variables}).encode(),
            {"Content-Type": "application/json", "Authorization": f"Bearer {self.deployer}"},
        )
        with urllib.request.urlopen(request, timeout=30) as answer:
            said = json.load(answer)
        assert "errors" not in said, said
        return said["data"]

    def worker_token(self, *queues: str) -> str:
        """A token that gives access to these queues and nothing else."""
        create = """mutation ($input: CreateApiTokenInput!) {
            createApiToken(input: $input) { secret } }"""
        name = f"worker-{uuid.uuid4()}"
        account = """mutation ($input: CreateServiceAccountInput!) {
            createServiceAccount(input: $input) { user { id } } }"""
        self.ask(account, input={"name": name, "role": "OPERATOR"})
        given = {
            "name": name,
            "role": "OPERATOR",
            "namespace": "default",
            "queues": queues,
            "serviceAccount": name,
        }
        secret = self.ask(create, input=given)["createApiToken"]["secret"]
        assert isinstance(secret, str)
        return secret

    def schedules(self) -> list[str]:
        found = self.ask("{ schedules(first: 50) { nodes { name } } }")["schedules"]["nodes"]
        return sorted(each["name"] for each in found)

    def trigger(self, name: str, **context: Any) -> str:
        found = self.ask("query ($name: String!) { schedule(name: $name) { id } }", name=name)[
            "schedule"
        ]["id"]
        trigger = """mutation ($id: UUID!, $context: JSON) {
            triggerSchedule(id: $id, context: $context) { run { id } } }"""
        run = self.ask(trigger, id=found, context=context)["triggerSchedule"]["run"]["id"]
        assert isinstance(run, str)
        return run

    def cancel(self, run: str) -> None:
        self.ask("mutation ($id: UUID!) { cancelRun(id: $id) { run { id } } }", id=run)

    def run(self, run: str) -> dict[str, Any]:
        query = """query ($id: UUID!) { run(id: $id) {
            state error output attempt tasks { attempts { state error output } } } }"""
        found: dict[str, Any] = self.ask(query, id=run)["run"]
        return found

    def settled(self, run: str) -> dict[str, Any]:
        states = ("SUCCEEDED", "FAILED", "TIMED_OUT", "CANCELLED")
        found: dict[str, Any] = until(lambda: self.run(run), lambda run: run["state"] in states)
        return found

    def log_of(self, run: str) -> list[tuple[str, str]]:
        query = """query ($id: UUID!) {
            taskLog(runId: $id, first: 100) { nodes { stream text } } }"""
        nodes = self.ask(query, id=run)["taskLog"]["nodes"]
        return [(each["stream"], each["text"]) for each in nodes]


def until(look: Callable[[], Any], is_so: Callable[[Any], bool]) -> Any:
    """Polls until the condition holds."""
    deadline = time.monotonic() + _PATIENCE
    while not is_so(found := look()):
        assert time.monotonic() < deadline, found
        time.sleep(0.05)
    return found
