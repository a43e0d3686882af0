from __future__ import annotations


class CarillonError(Exception):
    """What every error of this package is."""


class Permanent(CarillonError):
    """Raised by a task: another attempt would fail as well, so the server makes none."""


class InputError(Permanent):
    """The input of a job does not fit the parameters of its function."""

    def __init__(self, field: str, problem: str) -> None:
        super().__init__(f"{field}: {problem}")
        self.field = field
        self.problem = problem


class DeclarationError(CarillonError):
    """What the code declares contradicts itself or cannot be carried out."""


class DeployError(CarillonError):
    """The server refused the module of a program. Nothing was changed."""


class ApiError(CarillonError):
    """An answer of the server that is not a success."""

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
        return self.status == 429 or self.status >= 500
