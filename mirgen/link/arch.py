"""The GPU architectures that mirgen compiles for, and the text of ``--arch``."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import Literal

from mirgen.errors import InvalidInputError

Dialect = Literal["legacy", "modern"]

#: Shared memory in bytes that a block has without asking for more, on every architecture here.
SHARED_DEFAULT = 48 * 1024

#: The lowest PTX version that mirgen asks LLVM for (10 * major + minor): every driver since CUDA 12.0 reads it.
PTX_FLOOR = 80


@dataclass(frozen=True, slots=True)
class Arch:
    """One architecture, such as ``Arch("90a", ...)``.

    ``id`` is the number with NVIDIA's suffix: ``a`` for this chip only, ``f`` for its family.  ``ptx`` is the first
    PTX version that knows it (10 * major + minor), ``shared_optin`` the most shared memory a block can ask for, in
    bytes, and ``family`` what NVIDIA calls it.
    """

    id: str
    ptx: int
    shared_optin: int
    family: str

    @property
    def name(self) -> str:
        """As ptxas and LLVM name it: ``sm_90a``."""
        return f"sm_{self.id}"

    @property
    def compute(self) -> str:
        """As libNVVM names it: ``compute_90a``."""
        return f"compute_{self.id}"

    @property
    def number(self) -> int:
        """90 for ``sm_90a``."""
        return int(self.id.rstrip("af"))

    @property
    def dialect(self) -> Dialect:
        """The IR dialect that libNVVM reads for it: LLVM 7's before compute_100."""
        return "legacy" if self.number < 100 else "modern"

    @property
    def ptx_version(self) -> int:
        """The PTX version that mirgen asks LLVM for (10 * major + minor)."""
        return max(self.ptx, PTX_FLOOR)

    def __str__(self) -> str:
        return self.name


def _table() -> dict[str, Arch]:
    kib = 1024
    none: dict[str, int] = {}
    rows = (
        # with the PTX version of the plain form, then of the forms with a suffix
        ("75", 63, none, 64, "Turing"),
        ("80", 70, none, 163, "Ampere (A100)"),
        ("86", 71, none, 99, "Ampere (RTX 30)"),
        ("87", 74, none, 163, "Ampere (Orin)"),
        ("89", 78, none, 99, "Ada"),
        ("90", 78, {"a": 80}, 227, "Hopper"),
        ("100", 86, {"a": 86, "f": 88}, 227, "Blackwell (B200)"),
        ("103", 88, {"a": 88, "f": 88}, 227, "Blackwell (B300)"),
        ("110", 90, {"a": 90, "f": 90}, 227, "Blackwell (Thor)"),
        ("120", 87, {"a": 87, "f": 88}, 99, "Blackwell (RTX 50)"),
        ("121", 88, {"a": 88, "f": 88}, 99, "Blackwell (Spark)"),
    )
    table: dict[str, Arch] = {}
    for number, ptx, suffixes, shared, family in rows:
        for suffix, version in {"": ptx, **suffixes}.items():
            arch = Arch(number + suffix, version, shared * kib, family)
            table[arch.name] = arch
    return table


#: All architectures by name, in ascending order.
ARCHS = _table()


def find_arch(name: str) -> Arch:
    """The architecture called ``name`` (``sm_90``, ``compute_90`` and ``90`` mean the same).

    Raises InvalidInputError, which lists the known ones, for any other text.
    """
    plain = name.strip().lower()
    for prefix in ("sm_", "compute_", "sm"):
        if plain.startswith(prefix):
            plain = plain.removeprefix(prefix)
            break
    arch = ARCHS.get(f"sm_{plain}")
    if arch is None:
        close = difflib.get_close_matches(f"sm_{plain}", ARCHS, n=1)
        hint = f"; did you mean {close[0]}?" if close else ""
        raise InvalidInputError(f"unknown architecture `{name.strip()}`{hint} (known: {', '.join(ARCHS)})", "--arch")
    return arch


def parse_archs(text: str) -> tuple[Arch, ...]:
    """The architectures of ``--arch sm_90,sm_100``: at least one, each once, in the order given."""
    found: dict[str, Arch] = {}
    for word in text.split(","):
        if word.strip():
            arch = find_arch(word)
            found.setdefault(arch.name, arch)
    if not found:
        raise InvalidInputError(f"no architecture named (known: {', '.join(ARCHS)})", "--arch")
    return tuple(found.values())
