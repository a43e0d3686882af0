"""Runs tasks of Carillon in Python, and declares their schedules beside the code."""

from ._context import Context, LogHandler, current_context
from ._declare import Task, scheduled, task
from ._errors import (
    ApiError,
    CarillonError,
    DeclarationError,
    DeployError,
    InputError,
    Permanent,
)
from ._program import Change, Program
from ._version import __version__
from ._worker import Worker

__all__ = [
    "ApiError",
    "CarillonError",
    "Change",
    "Context",
    "DeclarationError",
    "DeployError",
    "InputError",
    "LogHandler",
    "Permanent",
    "Program",
    "Task",
    "Worker",
    "__version__",
    "current_context",
    "scheduled",
    "task",
]
