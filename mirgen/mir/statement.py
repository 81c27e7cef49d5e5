"""Statements and terminators."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from mirgen.mir.place import Operand, Place
from mirgen.mir.rvalue import Rvalue


@dataclass(frozen=True, slots=True)
class Span:
    """1-based position in ``file``; the end column is exclusive."""

    file: str
    line: int
    col: int
    end_line: int
    end_col: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.col}"


@dataclass(frozen=True, slots=True)
class SourceInfo:
    """Where a statement comes from; ``scope`` indexes the body's scopes."""

    span: Span | None
    scope: int | None


@dataclass(frozen=True, slots=True)
class Assign:
    source: SourceInfo
    place: Place
    rvalue: Rvalue


@dataclass(frozen=True, slots=True)
class SetDiscriminant:
    source: SourceInfo
    place: Place
    variant_index: int


@dataclass(frozen=True, slots=True)
class Storage:
    source: SourceInfo
    live: bool
    local: int


@dataclass(frozen=True, slots=True)
class Assume:
    source: SourceInfo
    operand: Operand


@dataclass(frozen=True, slots=True)
class CopyNonoverlapping:
    source: SourceInfo
    dst: Operand
    src: Operand
    count: Operand


@dataclass(frozen=True, slots=True)
class Ignored:
    """No run-time meaning (``nop``, ``Retag``, ..); kept so that printing gives back what was read."""

    source: SourceInfo
    text: str


Statement: TypeAlias = Assign | SetDiscriminant | Storage | Assume | CopyNonoverlapping | Ignored


@dataclass(frozen=True, slots=True)
class Unwind:
    action: Literal["continue", "unreachable", "terminate_abi", "terminate_cleanup", "cleanup"]
    block: int | None = None


@dataclass(frozen=True, slots=True)
class Goto:
    source: SourceInfo
    target: int


@dataclass(frozen=True, slots=True)
class SwitchInt:
    """``arms`` maps unsigned 128-bit patterns to blocks."""

    source: SourceInfo
    operand: Operand
    arms: tuple[tuple[int, int], ...]
    otherwise: int


@dataclass(frozen=True, slots=True)
class Return:
    source: SourceInfo


@dataclass(frozen=True, slots=True)
class Unreachable:
    source: SourceInfo


@dataclass(frozen=True, slots=True)
class Resume:
    """``resume`` and ``terminate(..)``: only in cleanup blocks, which panic=abort never enters."""

    source: SourceInfo
    what: str


@dataclass(frozen=True, slots=True)
class Call:
    """``target`` is ``None`` for a call that diverges."""

    source: SourceInfo
    destination: Place
    func: Operand
    args: tuple[Operand, ...]
    target: int | None
    unwind: Unwind


@dataclass(frozen=True, slots=True)
class TailCall:
    source: SourceInfo
    func: Operand
    args: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class Drop:
    source: SourceInfo
    place: Place
    target: int
    unwind: Unwind


@dataclass(frozen=True, slots=True)
class Assert:
    source: SourceInfo
    operand: Operand
    expected: bool
    message: str
    args: tuple[Operand, ...]
    target: int
    unwind: Unwind


@dataclass(frozen=True, slots=True)
class InlineAsm:
    source: SourceInfo
    text: str


@dataclass(frozen=True, slots=True)
class UnsupportedTerminator:
    source: SourceInfo
    what: str
    text: str


Terminator: TypeAlias = (
    Goto | SwitchInt | Return | Unreachable | Resume | Call | TailCall | Drop | Assert | InlineAsm
    | UnsupportedTerminator
)  # fmt: skip
