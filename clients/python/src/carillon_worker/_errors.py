from __future__ import annotations


class CarillonError(Exception):
    """The base class of this package's errors."""


class Permanent(CarillonError):
    """Raised by a task: another attempt would fail as well, so the server does not make one."""


class InputError(Permanent):
    """The input of a job does not fit the parameters of its function."""

    def __init__(self, field: str, problem: str) -> None:
        super().__init__(f"{field}: {problem}")
        self.field = field
        self.problem = problem


class DeclarationError(CarillonError):
    """The declarations contradict each other, or cannot work."""


class DeployError(CarillonError):
    """The server refused the module of a program. Nothing was changed."""


class ApiError(CarillonError):
    """An error response of the server."""

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        field: str | None = None,
        retry_after: float | None = None,
    ) -> None:
        where = f" ({field})" if field else ""
        super().__init__(f"{code}{where}: {message}")
        self.status = status
        self.code = code
        self.message = message
        self.field = field
        self.retry_after = retry_after

    @property
    def is_passing(self) -> bool:
        """Whether the same request may succeed later."""
        # A proxy in front of the server answers with 408 if it has waited too long for a request
        # on an idle connection.
        return self.status in (408, 425, 429) or self.status >= 500
