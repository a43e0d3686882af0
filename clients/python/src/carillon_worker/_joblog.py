"""The log lines of one job on their way to the server."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any

MAX_LINES = 200
# The server accepts 256 KiB per request; the rest is for JSON's punctuation and escapes.
MAX_BYTES = 96 << 10
_MAX_LINE = 16 << 10
_CUT = " [cut]"
_MAX_WAITING = 10_000

Send = Callable[[list[dict[str, Any]]], None]


class JobLog:
    """Bounded: lines written faster than the server accepts them are counted and dropped."""

    def __init__(self, send: Send, wake: Callable[[], None]) -> None:
        self._send = send
        self._wake = wake
        self._lines: deque[tuple[str, str]] = deque()
        self._dropped = 0
        self._lock = threading.Lock()
        # Held while lines are being sent, so that they arrive in order.
        self._sending = threading.Lock()
        self._is_closed = False

    def add(self, stream: str, text: str) -> None:
        # A lone surrogate cannot be sent, and the database does not accept a null character in
        # text.
        clean = text.encode("utf-8", "replace").decode().replace("\0", "\ufffd")
        is_many = False
        with self._lock:
            if self._is_closed:
                return
            for line in clean.splitlines() or [""]:
                if len(self._lines) >= _MAX_WAITING:
                    self._dropped += 1
                else:
                    self._lines.append((stream, _cut(line)))
            is_many = len(self._lines) >= MAX_LINES
        if is_many:
            self._wake()

    def close(self) -> None:
        """The server accepts no more lines: the job has ended or belongs to another worker."""
        with self._lock:
            self._is_closed = True
            self._lines.clear()

    def send_some(self) -> None:
        """Sends the lines of one request, unless lines are being sent.

        It asks for another turn if as many lines wait, so that a job that prints without end takes
        turns with the others.
        """
        if not self._sending.acquire(blocking=False):
            return
        try:
            if batch := self._batch():
                self._send(batch)
        finally:
            self._sending.release()
        with self._lock:
            is_many = len(self._lines) >= MAX_LINES
        if is_many:
            self._wake()

    def flush(self, patience: float) -> None:
        """Sends the waiting lines. Lines left after `patience` seconds are dropped."""
        until = time.monotonic() + patience
        with self._sending:
            while batch := self._batch():
                if time.monotonic() > until:
                    self.close()
                    return
                self._send(batch)

    def _batch(self) -> list[dict[str, Any]]:
        batch: list[dict[str, Any]] = []
        size = 0
        with self._lock:
            while self._lines and len(batch) < MAX_LINES:
                stream, text = self._lines[0]
                size += len(text.encode())
                if batch and size > MAX_BYTES:
                    break
                self._lines.popleft()
                batch.append({"stream": stream, "text": text})
            if self._dropped and len(batch) < MAX_LINES:
                text = f"[carillon] {self._dropped} lines were dropped: they came too fast"
                batch.append({"stream": "stderr", "text": text})
                self._dropped = 0
        return batch


def _cut(line: str) -> str:
    if len(line) <= _MAX_LINE // 4:
        return line
    data = line.encode()
    if len(data) <= _MAX_LINE:
        return line
    return data[: _MAX_LINE - len(_CUT)].decode("utf-8", "ignore") + _CUT
