"""A scripted server that speaks the protocol, for faults that a real server rarely has."""

from __future__ import annotations

import json
import threading
from collections import defaultdict, deque
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Answer = tuple[int, dict[str, Any], dict[str, str]]

#: An answer that never comes: the connection is closed instead.
HANG_UP: Answer = (0, {}, {})


def error(status: int, code: str, retry_after: str | None = None) -> Answer:
    body = {"error": {"code": code, "message": f"says {code}", "field": None}}
    return status, body, {} if retry_after is None else {"Retry-After": retry_after}


def job(task: str, input: Any = None, **more: Any) -> dict[str, Any]:
    given: dict[str, Any] = {
        "id": f"job-{task}",
        "token": "fence-1",
        "queue": "emails",
        "task": task,
        "input": input,
        "timeoutSeconds": 300,
        "run": {
            "id": "run-1",
            "attempt": 1,
            "task": "main",
            "namespace": "default",
            "schedule": "nightly",
            "scheduleId": "schedule-1",
            "scheduleVersion": 3,
            "scheduledAt": "2026-11-26T02:00:00Z",
            "idempotencyKey": "key-1",
            "traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        },
    }
    return {**given, **more}


class FakeServer:
    def __init__(self) -> None:
        self.requests: list[tuple[str, dict[str, Any]]] = []
        self.registered = 0
        self.heartbeat_seconds = 10.0
        #: Answers to give before the usual ones, by path.
        self.scripted: dict[str, deque[Answer]] = defaultdict(deque)
        self._jobs: list[dict[str, Any]] = []
        self._stop: list[str] = []
        self._closed = False
        self._changed = threading.Condition()
        fake = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                path = self.path.removeprefix("/worker/v1/")
                status, answer, headers = fake._answer(path, body)
                if status == 0:
                    self.close_connection = True
                    return
                text = json.dumps(answer).encode()
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            block_on_close = False

            def handle_error(self, request: Any, client_address: Any) -> None:
                pass

        self._http = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}"
        threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True).start()

    def give(self, *jobs: dict[str, Any]) -> None:
        with self._changed:
            self._jobs += jobs
            self._changed.notify_all()

    def ask_to_stop(self, job_id: str) -> None:
        with self._changed:
            self._stop.append(job_id)
            self._changed.notify_all()

    def bodies(self, path: str) -> list[dict[str, Any]]:
        with self._changed:
            return [body for each, body in self.requests if each == path]

    def wait(self, what: Callable[[], bool]) -> None:
        """Waits until the condition holds; it is checked after each request."""
        with self._changed:
            assert self._changed.wait_for(what, 20), self.requests

    def wait_for(self, path: str, count: int = 1) -> list[dict[str, Any]]:
        self.wait(lambda: sum(each == path for each, _ in self.requests) >= count)
        return self.bodies(path)

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._http.shutdown()
        self._http.server_close()

    def _answer(self, path: str, body: dict[str, Any]) -> Answer:
        with self._changed:
            self.requests.append((path, body))
            self._changed.notify_all()
            if self.scripted[path]:
                return self.scripted[path].popleft()
            if path == "register":
                self.registered += 1
                self._changed.notify_all()
                return (
                    200,
                    {
                        "workerId": f"worker-{self.registered}",
                        "leaseSeconds": 30,
                        "heartbeatSeconds": self.heartbeat_seconds,
                        "maxWaitSeconds": 20,
                    },
                    {},
                )
            if path == "poll":

                def is_gone() -> bool:
                    return bool(body["workerId"] != f"worker-{self.registered}")

                self._changed.wait_for(
                    lambda: self._jobs or self._stop or self._closed or is_gone(), 20
                )
                if is_gone():
                    return error(404, "NOT_FOUND")
                taken, self._jobs = self._jobs[: body["free"]], self._jobs[body["free"] :]
                stop, self._stop = self._stop, []
                return 200, {"jobs": taken, "stop": stop, "drain": False}, {}
            if path == "heartbeat":
                stop, self._stop = self._stop, []
                return 200, {"lost": [], "stop": stop, "drain": False}, {}
            if path == "extend":
                return 200, {"leaseSeconds": body["seconds"]}, {}
            return 200, {}, {}
