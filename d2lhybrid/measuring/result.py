"""What all results share: they go to JSON and come back the same; see docs/results-schema.md."""

from typing import Annotated, Any, Self

import msgspec

from d2lhybrid.core.errors import DamagedResultError
from d2lhybrid.core.i18n import gettext as _

VERSION = 7  # of the schema

Seconds = Annotated[float, msgspec.Meta(ge=0)]
Fraction = Annotated[float, msgspec.Meta(ge=0)]  # such as 0.02 for 2%


class Result:
    """Is written to JSON, and read from it without loss."""

    def to_json(self) -> str:
        """JSON that `from_json` reads back exactly."""
        head = {"schema": _schema(type(self)), "version": VERSION, **self._derived()}
        return msgspec.json.encode(head | self._plain()).decode()

    def _derived(self) -> dict[str, Any]:
        """What stands before its fields, for programs that only read results; nothing here."""
        return {}

    def _plain(self) -> dict[str, Any]:
        """Its fields as what JSON has."""
        content: dict[str, Any] = msgspec.to_builtins(self)
        return content

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read what `to_json` wrote.

        Raises:
            DamagedResultError: the text isn't JSON, isn't complete, or holds something else.
        """
        try:
            content = msgspec.json.decode(text)
            head = content["schema"], content["version"]
            if head != (_schema(cls), VERSION):
                raise ValueError(head)
            return msgspec.convert(content, cls)
        except (ValueError, TypeError, LookupError, RecursionError) as error:
            message = _(
                "Expected the JSON of a {schema} as in docs/results-schema.md. Received: something "
                "that doesn't fit ({reason}). Check that the file is complete."
            )
            raise DamagedResultError(message.format(schema=_schema(cls), reason=error)) from error


def _schema(kind: type) -> str:
    return f"d2lhybrid-{kind.__name__.lower()}"
