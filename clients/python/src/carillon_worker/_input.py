"""Converts JSON to a function's parameters and its result to JSON, by annotations."""

from __future__ import annotations

import dataclasses
import enum
import inspect
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from typing import Any, Literal, Union
from uuid import UUID

from ._context import Context
from ._errors import DeclarationError, InputError

_PARSED_TEXT: dict[Any, tuple[Callable[[str], Any], str]] = {
    # Python 3.10 does not parse the `Z` that RFC 3339 and the server use for UTC.
    datetime: (lambda text: datetime.fromisoformat(text.replace("Z", "+00:00")), "an instant"),
    date: (date.fromisoformat, "a day such as 2026-11-26"),
    UUID: (UUID, "a UUID"),
}
_PLAIN: dict[Any, str] = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a text",
    type(None): "null",
}


class Signature:
    """The parameters that a task takes from its job's input."""

    def __init__(self, function: Callable[..., Any]) -> None:
        name = function.__qualname__
        # A NameError here means a type that is not defined yet; the caller tries again later.
        hints = _parameter_hints(function)
        self.context: str | None = None
        self.parameters: dict[str, tuple[Any, inspect.Parameter]] = {}
        for parameter in inspect.signature(function).parameters.values():
            if parameter.kind not in (
                inspect.Parameter.POSITIONAL_OR_KEYWORD,
                inspect.Parameter.KEYWORD_ONLY,
            ):
                raise DeclarationError(
                    f"{name}: the parameter {parameter} has no name in the input; "
                    "declare each field as a parameter of its own"
                )
            if parameter.name not in hints:
                raise DeclarationError(f"{name}: the parameter {parameter.name} has no annotation")
            hint = hints[parameter.name]
            if hint is Context:
                self.context = parameter.name
                continue
            check_annotation(hint, f"{name}: the parameter {parameter.name}")
            self.parameters[parameter.name] = (hint, parameter)
        # A single dataclass represents the whole input, so its fields are the input's fields.
        whole = list(self.parameters.values())
        self.is_record = len(whole) == 1 and dataclasses.is_dataclass(whole[0][0])

    def arguments(self, given: Any, context: Context) -> dict[str, Any]:
        """The arguments of the function; raises `InputError` with the field's name."""
        arguments: dict[str, Any] = {}
        if self.is_record:
            ((name, (hint, _)),) = self.parameters.items()
            arguments[name] = convert({} if given is None else given, hint, "")
        else:
            fields = _object({} if given is None else given, "")
            _refuse_unknown(fields, self.parameters, "")
            for name, (hint, parameter) in self.parameters.items():
                if name in fields:
                    arguments[name] = convert(fields[name], hint, name)
                elif parameter.default is inspect.Parameter.empty:
                    raise InputError(name, "is missing")
        if self.context is not None:
            arguments[self.context] = context
        return arguments


def _parameter_hints(function: Callable[..., Any]) -> dict[str, Any]:
    """As `get_type_hints`, without the return type: nothing depends on it."""
    plain = inspect.unwrap(function)
    bare = types.FunctionType((lambda: None).__code__, plain.__globals__)
    bare.__annotations__ = {
        name: hint for name, hint in plain.__annotations__.items() if name != "return"
    }
    return typing.get_type_hints(bare)


def check_annotation(hint: Any, what: str, seen: frozenset[Any] = frozenset()) -> None:
    """Refuses a type that JSON cannot become, at declaration and not when a job arrives."""
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if hint is Any or hint is object or hint in _PLAIN or hint in _PARSED_TEXT or hint in seen:
        return
    if origin is Literal or (_is_class(hint) and issubclass(hint, enum.Enum)):
        return
    if hint in (list, dict):
        return
    if origin in (list, Sequence, Union, types.UnionType):
        for each in inner:
            check_annotation(each, what, seen)
    elif origin in (dict, Mapping) and inner[0] is str:
        check_annotation(inner[1], what, seen)
    elif _is_class(hint) and dataclasses.is_dataclass(hint):
        for name, each in typing.get_type_hints(hint).items():
            check_annotation(each, f"{what}, field {name}", seen | {hint})
    else:
        raise DeclarationError(
            f"{what} has the type {_name(hint)}, which cannot be read from JSON; use bool, int, "
            "float, str, list, dict with str as key, Optional, Literal, Enum, date, datetime, "
            "UUID or a dataclass of these"
        )


def convert(value: Any, hint: Any, path: str) -> Any:
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if hint is Any or hint is object:
        return value
    if hint in _PLAIN:
        return _plain(value, hint, path)
    if hint in _PARSED_TEXT:
        parse, what = _PARSED_TEXT[hint]
        if not isinstance(value, str):
            raise _wrong(value, what, path)
        try:
            return parse(value)
        except ValueError:
            raise _wrong(value, what, path) from None
    if origin in (Union, types.UnionType):
        return _union(value, inner, path)
    if origin is Literal:
        for choice in inner:
            if type(choice) is type(value) and choice == value:
                return value
        raise _wrong(value, "one of " + ", ".join(map(repr, inner)), path)
    if hint is list or origin in (list, Sequence):
        if not isinstance(value, list):
            raise _wrong(value, "a list", path)
        if not inner:
            return value
        return [convert(each, inner[0], f"{path}[{at}]") for at, each in enumerate(value)]
    if hint is dict or origin in (dict, Mapping):
        fields = _object(value, path)
        if not inner:
            return fields
        return {key: convert(each, inner[1], _below(path, key)) for key, each in fields.items()}
    if _is_class(hint) and issubclass(hint, enum.Enum):
        for member in hint:
            if type(member.value) is type(value) and member.value == value:
                return member
        raise _wrong(value, "one of " + ", ".join(repr(each.value) for each in hint), path)
    return _record(value, hint, path)


def to_json(value: Any) -> Any:
    """The `default` of `json.dumps`: converts values that it does not know."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {each.name: getattr(value, each.name) for each in dataclasses.fields(value)}
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, (datetime, date)):
        return value.isoformat()
    if isinstance(value, UUID):
        return str(value)
    raise TypeError(f"a {type(value).__name__} cannot be written as JSON")


def _plain(value: Any, hint: Any, path: str) -> Any:
    # In Python a bool is an int; in JSON it is not.
    if hint is float and isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    if type(value) is hint:
        return value
    raise _wrong(value, _PLAIN[hint], path)


def _union(value: Any, choices: tuple[Any, ...], path: str) -> Any:
    problem = None
    for choice in choices:
        try:
            return convert(value, choice, path)
        except InputError as error:
            # For an optional value, its own problem is more useful than that it is not null.
            if choice is not type(None):
                problem = problem or error
    if problem is not None and len([each for each in choices if each is not type(None)]) == 1:
        raise problem
    raise _wrong(value, "one of " + ", ".join(_name(each) for each in choices), path)


def _record(value: Any, hint: Any, path: str) -> Any:
    fields = _object(value, path)
    known = {each.name: each for each in dataclasses.fields(hint) if each.init}
    _refuse_unknown(fields, known, path)
    hints = typing.get_type_hints(hint)
    arguments = {}
    for name, field in known.items():
        if name in fields:
            arguments[name] = convert(fields[name], hints[name], _below(path, name))
        elif field.default is field.default_factory is dataclasses.MISSING:
            raise InputError(_below(path, name), "is missing")
    try:
        return hint(**arguments)
    except ValueError as error:
        # An error that the class itself raises, in its __post_init__.
        raise InputError(path or "input", str(error)) from error


def _object(value: Any, path: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _wrong(value, "an object", path)
    return value


def _refuse_unknown(fields: dict[str, Any], known: Mapping[str, Any], path: str) -> None:
    for name in fields:
        if name not in known:
            there_is = ", ".join(known) or "none"
            raise InputError(_below(path, name), f"is not a field; there is {there_is}")


def _wrong(value: Any, wanted: str, path: str) -> InputError:
    # The value may be a secret: naming its type is enough.
    kinds: dict[type, str] = {
        dict: "an object",
        list: "a list",
        str: "a text",
        bool: "true or false",
        int: "a number",
        float: "a number",
        type(None): "null",
    }
    found = kinds.get(type(value), "something else")
    found = "another value" if found == wanted or wanted.startswith("one of") else found
    return InputError(path or "input", f"must be {wanted}, and is {found}")


def _below(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _name(hint: Any) -> str:
    return str(hint.__name__) if _is_class(hint) else str(hint).replace("typing.", "")


def _is_class(hint: Any) -> bool:
    # In Python 3.10, list[int] is also an instance of type.
    return isinstance(hint, type) and typing.get_origin(hint) is None
