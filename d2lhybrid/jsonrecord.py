"""Frozen dataclasses as JSON: out, in, and refused when a field does not fit its type."""

import json
from contextlib import suppress
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
                record: R = read(cls, content)
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


def read(kind: Any, value: Any) -> Any:
    """`value`, as JSON has it, as the type `kind`; raises ValueError where it cannot be."""
    if kind is Any or kind in (None, type(None)):
        return _require(kind is Any or value is None, kind, value)
    if isinstance(kind, UnionType):
        return _read_union(get_args(kind), value)
    if isinstance(kind, type) and is_dataclass(kind):
        return _read_fields(kind, value)
    if get_origin(kind) is tuple:
        _require(isinstance(value, list), "list", value)
        return tuple(read(get_args(kind)[0], item) for item in value)
    if get_origin(kind) is dict:
        _require(isinstance(value, dict), "dict", value)
        return {key: read(get_args(kind)[1], item) for key, item in value.items()}
    numbers = (int, float) if kind is float else (kind,)
    return _require(type(value) in numbers, kind, value)


def _read_union(kinds: Any, value: Any) -> Any:
    """As the first member of a union that it fits."""
    for kind in kinds:
        with suppress(ValueError):
            return read(kind, value)
    return _require(
        False, " | ".join(getattr(kind, "__name__", str(kind)) for kind in kinds), value
    )


def _read_fields(kind: Any, value: Any) -> Any:
    hints, names = get_type_hints(kind), {field.name for field in fields(kind)}
    if not isinstance(value, dict) or value.keys() != names:
        raise ValueError(
            _("a {kind} without its fields, or with others").format(kind=kind.__name__)
        )
    return kind(**{name: read(hints[name], value[name]) for name in names})


def _require(fits: bool, kind: Any, value: Any) -> Any:
    if not fits:
        name = getattr(kind, "__name__", kind)
        text = _("{value} where {kind} should be")
        raise ValueError(text.format(value=repr(value)[:80], kind=name))
    return value
