"""What an entry of the registry is, and how names are matched.

An entry belongs to a name without path and generics: ``rotate_left`` for ``core::intrinsics::rotate_left::<u32>``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from mirgen.lower.callsite import CallSite, Handler
from mirgen.lower.value import Value

if TYPE_CHECKING:
    from mirgen.lower.context import FunctionContext

Support: TypeAlias = Literal["exact", "approximate", "refused"]


@dataclass(frozen=True, slots=True)
class Intrinsic:
    """One intrinsic: how it is lowered, and what the table says about it.

    ``exact``: the same bits on every target and natively.  ``approximate``: the mathematical library of the target
    decides the last bits (libdevice on the GPU, libm on the host).  ``refused``: an error that says why.
    """

    handler: Handler
    note: str = ""
    support: Support = "exact"


#: Entries by name.
Table: TypeAlias = Mapping[str, Intrinsic]


def refusal(code: str, why: str, *, helps: tuple[str, ...] = ()) -> Intrinsic:
    """An entry that always raises :class:`UnsupportedError` with ``why``."""

    def handler(fx: FunctionContext, call: CallSite) -> Value | None:
        raise fx.unsupported(code, f"`{call.path}` is not supported: {why}", helps=helps)

    return Intrinsic(handler, why, "refused")
