"""Which function is meant: by name, by part of a name, or by its number in the list."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from mirgen.errors import InvalidInputError
from mirgen.view.listing import Item


class NoChoiceError(InvalidInputError):
    """Nothing, or more than one function, fits what the user wrote; the message lists what there is."""


def choose(items: Sequence[Item], wanted: str | None) -> Item:
    """The one item that ``wanted`` names: its name, part of it, or its number in the list; ``None`` chooses the only
    kernel.

    Raises :class:`NoChoiceError` with a numbered list.
    """
    if not items:
        raise NoChoiceError("there is no function to show")
    if wanted is None:
        kernels = [item for item in items if item.kernel]
        if len(kernels) == 1:
            return kernels[0]
        raise NoChoiceError(f"which one? Name it, or give its number:\n{list_items(items)}")
    if wanted.isascii() and wanted.isdecimal():
        if int(wanted) < len(items):
            return items[int(wanted)]
        raise NoChoiceError(f"there is no number {wanted}; there are:\n{list_items(items)}")
    exact = [item for item in items if item.name == wanted]
    fitting = exact or [item for item in items if wanted in item.name]
    if len(fitting) == 1:
        return fitting[0]
    if not fitting:
        near = difflib.get_close_matches(wanted, [item.name for item in items], 1)
        hint = f"did you mean `{near[0]}`?" if near else "there are:"
        raise NoChoiceError(f"no function is called `{wanted}`; {hint}\n{list_items(items)}")
    raise NoChoiceError(f"`{wanted}` may be one of these; name it, or give its number:\n{list_items(items, fitting)}")


def list_items(items: Sequence[Item], shown: Sequence[Item] | None = None) -> str:
    """A line for each item (or for those ``shown``): its number among all, its name, how many lines it has."""
    wanted = None if shown is None else {id(item) for item in shown}
    chosen = [(number, item) for number, item in enumerate(items) if wanted is None or id(item) in wanted]
    width = max((len(item.name) for _, item in chosen), default=0)
    digits = len(str(len(items))) + 2
    return "\n".join(
        f"{number:>{digits}} {item.name:<{width}}  [{len(item.lines)} lines{', kernel' if item.kernel else ''}]"
        for number, item in chosen
    )
