"""JSON over HTTP, with persistent connections, and with retries while they can help."""

from __future__ import annotations

import http.client
import json
import random
import socket
import ssl
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

from ._errors import ApiError, CarillonError
from ._version import CLIENT

_FIRST_DELAY = 0.2
_LONGEST_DELAY = 15.0
_MAX_ANSWER = 64 << 20
_TIMEOUT = 30.0

#: The exceptions for a missing answer: it is unknown whether the request was carried out.
Unanswered = (OSError, http.client.HTTPException)


def delay_after(failures: int, retry_after: float | None = None) -> float:
    """The delay before the next request, after this many failures in a row."""
    longest = min(_LONGEST_DELAY, _FIRST_DELAY * 2.0 ** min(failures, 16))
    wait = random.uniform(longest / 2, longest)
    # Add jitter, so that workers that got the same answer do not all return at once.
    return wait if retry_after is None else retry_after + random.uniform(0, longest)


class Http:
    """A server and the connections to it. Safe to use from several threads at once."""

    def __init__(self, url: str, token: str, tls: ssl.SSLContext | None = None) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise CarillonError(f"the server's address must be http(s)://HOST, and is {url!r}")
        self._host, self._port = parts.hostname, parts.port
        self._base = parts.path.rstrip("/")
        self._tls = (tls or ssl.create_default_context()) if parts.scheme == "https" else None
        self._headers = {
            "Authorization": f"Bearer {token}",
            "Content-Type": "application/json",
            "User-Agent": CLIENT,
        }
        self._idle: list[http.client.HTTPConnection] = []
        self._lock = threading.Lock()

    def post(
        self,
        path: str,
        body: Any,
        timeout: float = _TIMEOUT,
        interrupt: Interrupt | None = None,
    ) -> Any:
        """One request. Raises `ApiError` if the server refuses it, or one of `Unanswered`."""
        text = json.dumps(body, ensure_ascii=False, allow_nan=False).encode()
        connection = self._take(timeout)
        try:
            was_open = connection.sock is not None
            if not was_open:
                connection.connect()
            if interrupt is not None:
                interrupt.watch(connection)
            try:
                answer = self._exchange(connection, path, text)
            except (http.client.RemoteDisconnected, ConnectionResetError, BrokenPipeError):
                # A server may close an idle connection just as it is used again. Every request of
                # the protocol may be repeated, so try a new connection before reporting the error.
                if not was_open or interrupt is not None:
                    raise
                connection.close()
                answer = self._exchange(connection, path, text)
            status, headers, data = answer
        except BaseException:
            connection.close()
            raise
        with self._lock:
            self._idle.append(connection)
        return _read(status, headers, data)

    def close(self) -> None:
        with self._lock:
            idle, self._idle = self._idle, []
        for each in idle:
            each.close()

    def _exchange(
        self, connection: http.client.HTTPConnection, path: str, text: bytes
    ) -> tuple[int, http.client.HTTPMessage, bytes]:
        connection.request("POST", self._base + path, text, self._headers)
        with connection.getresponse() as answer:
            data = answer.read(_MAX_ANSWER + 1)
            if len(data) > _MAX_ANSWER:
                raise http.client.HTTPException("the answer is longer than 64 MiB")
            return answer.status, answer.headers, data

    def _take(self, timeout: float) -> http.client.HTTPConnection:
        with self._lock:
            connection = self._idle.pop() if self._idle else None
        if connection is None:
            if self._tls is None:
                connection = _Connection(self._host, self._port, timeout=timeout)
            else:
                connection = http.client.HTTPSConnection(
                    self._host, self._port, timeout=timeout, context=self._tls
                )
        connection.timeout = timeout
        if connection.sock is not None:
            connection.sock.settimeout(timeout)
        return connection


class _Connection(http.client.HTTPConnection):
    def connect(self) -> None:
        super().connect()
        # Head and body are two writes; without this the second waits for an acknowledgement.
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


class Interrupt:
    """Aborts the request that another thread is waiting for, and any later one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None
        self._is_fired = False

    def watch(self, connection: http.client.HTTPConnection) -> None:
        with self._lock:
            if self._is_fired:
                raise ConnectionAbortedError("interrupted")
            self._socket = connection.sock

    def fire(self) -> None:
        with self._lock:
            self._is_fired = True
            if self._socket is not None:
                with suppress(OSError):
                    self._socket.shutdown(socket.SHUT_RDWR)


def call(
    http_: Http,
    path: str,
    body: Any,
    given_up: threading.Event,
    on_failure: Callable[[Exception, float], None] = lambda _error, _delay: None,
    timeout: float = _TIMEOUT,
) -> Any:
    """Repeats a request until it is answered, or raises the last error once `given_up` is set.

    Each request may take `timeout` seconds.
    """
    failures = 0
    while True:
        try:
            return http_.post(path, body, timeout)
        except ApiError as error:
            if not error.is_passing:
                raise
            problem: Exception = error
            delay = delay_after(failures, error.retry_after)
        except Unanswered as error:
            problem = error
            delay = delay_after(failures)
        failures += 1
        on_failure(problem, delay)
        if given_up.wait(delay):
            raise problem


def _read(status: int, headers: http.client.HTTPMessage, data: bytes) -> Any:
    try:
        answer = json.loads(data) if data else {}
    except ValueError:
        answer = None
    if 200 <= status < 300:
        if not isinstance(answer, dict):
            raise http.client.HTTPException(f"the answer {status} is not a JSON object")
        return answer
    error = _error_in(answer)
    raise ApiError(
        status,
        str(error.get("code") or f"HTTP_{status}"),
        str(error.get("message") or f"the server answered with status {status}"),
        error.get("field"),
        _seconds(headers.get("Retry-After")),
    )


def _error_in(answer: Any) -> dict[str, Any]:
    """The error in an answer of the protocol or of GraphQL."""
    if not isinstance(answer, dict):
        return {}
    error = answer.get("error")
    if isinstance(error, dict):
        return error
    match answer.get("errors"):
        case [{"message": str(message), "extensions": {"code": code}}, *_]:
            return {"code": code, "message": message}
    return {}


def _seconds(text: str | None) -> float | None:
    # A date is also allowed there, but Carillon sends seconds.
    return (
        min(float(text), 300.0) if text is not None and text.isascii() and text.isdigit() else None
    )
