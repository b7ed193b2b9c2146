"""Frozen dataclasses as JSON: out, in, and refused when a field does not fit its type."""

import json
from dataclasses import asdict, fields, is_dataclass
from types import UnionType
from typing import Any, ClassVar, TypeVar, get_args, get_origin, get_type_hints

from d2lhybrid.errors import DamagedResultError
from d2lhybrid.i18n import gettext as _

R = TypeVar("R", bound="Record")


class Record:
    """What all results share: JSON out and in, exactly; see docs/results-schema.md.

    `version` is that of the schema; ``upgraded`` reads older ones.
    """

    version: ClassVar[int] = 1

    def to_json(self) -> str:
        """JSON that `from_json` reads back exactly."""
        content = asdict(self)  # type: ignore[call-overload]
        return json.dumps({"schema": _schema(type(self)), "version": self.version, **content})

    @classmethod
    def from_json(cls: type[R], text: str) -> R:
        """Read what `to_json` wrote.

        Raises:
            DamagedResultError: the text is no JSON, of something else, or not whole.
        """
        try:
            content = json.loads(text)
            found = content.pop("schema"), content.pop("version")
            schema, number = found
            if schema == _schema(cls) and type(number) is int and 1 <= number <= cls.version:
                if number < cls.version:
                    content = cls.upgraded(content, number)
                record: R = _read(cls, content)
                record.check()
                return record
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise DamagedResultError(
                _(
                    "Expected JSON of a {schema} as in docs/results-schema.md. Received: "
                    "something that does not fit ({reason}). Check that the file is whole."
                ).format(schema=_schema(cls), reason=error)
            ) from error
        raise DamagedResultError(
            _(
                "Expected {schema}, version {version}. Received: {other}, version {number}. "
                "Read it with the class and the d2lhybrid that wrote it."
            ).format(schema=_schema(cls), version=cls.version, other=found[0], number=found[1])
        )

    @classmethod
    def upgraded(cls, content: dict[str, Any], version: int) -> dict[str, Any]:
        """The fields of an older version as this one has them."""
        raise ValueError(version)

    def check(self) -> None:
        """Raise ValueError where fields contradict each other."""


def _schema(kind: type) -> str:
    return f"d2lhybrid-{kind.__name__.lower()}"


def _read(kind: Any, value: Any) -> Any:
    """`value`, as JSON has it, as the type `kind`; raises ValueError where it cannot be."""
    if isinstance(kind, type) and is_dataclass(kind):
        hints = get_type_hints(kind)
        names = {field.name for field in fields(kind)}
        if not isinstance(value, dict) or value.keys() != names:
            raise ValueError(
                _("a {kind} without its fields, or with others").format(kind=kind.__name__)
            )
        return kind(**{name: _read(hints[name], value[name]) for name in names})
    if get_origin(kind) is tuple and isinstance(value, list):
        return tuple(_read(get_args(kind)[0], item) for item in value)
    if get_origin(kind) is dict and isinstance(value, dict):
        return {key: _read(get_args(kind)[1], item) for key, item in value.items()}
    if isinstance(kind, UnionType):
        fitting = [one for one in get_args(kind) if _is(one, value)]
        kind = fitting[0] if fitting else next(one for one in get_args(kind) if get_origin(one))
        return _read(kind, value)
    if _is(kind, value):
        return value
    name = getattr(kind, "__name__", kind)
    raise ValueError(_("{value!r} where {kind} should be").format(value=value, kind=name))


def _is(kind: Any, value: Any) -> bool:
    if kind is float:
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    return type(value) is kind
