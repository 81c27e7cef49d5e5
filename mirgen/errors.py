"""The four kinds of error.  Each stage raises these and nothing else on purpose; the CLI maps them to exit codes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Location:
    """1-based position in a source file; the end column is exclusive."""

    file: str
    line: int
    col: int
    end_line: int
    end_col: int


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One message in rustc's shape: ``code`` is ``MGnnnn``; ``labels`` point at further places."""

    code: str
    message: str
    location: Location | None = None
    label: str = ""
    notes: Sequence[str] = ()
    helps: Sequence[str] = ()
    labels: Sequence[tuple[Location, str]] = field(default_factory=tuple)


class MirgenError(Exception):
    """Base of all errors that mirgen raises on purpose."""


class UnsupportedError(MirgenError):
    """The user's code asks for something that mirgen refuses.  One or more diagnostics."""

    def __init__(self, *diagnostics: Diagnostic) -> None:
        super().__init__("; ".join(f"{d.code}: {d.message}" for d in diagnostics))
        self.diagnostics = diagnostics


class InvalidInputError(MirgenError):
    """Bad JSON, rustc text, manifest or argument; ``where`` says which file, line or path inside it."""

    def __init__(self, message: str, where: str = "") -> None:
        super().__init__(f"{where}: {message}" if where else message)
        self.message = message
        self.where = where


class ToolError(MirgenError):
    """A tool (cargo, rustc, ptxas, libNVVM, LLVM, the driver) failed: its command, its own lines, its status.

    ``message`` is empty where the tool's lines have been shown already.
    """

    def __init__(
        self, tool: str, message: str, *, command: Sequence[str] = (), output: str = "", status: int = 0
    ) -> None:
        said = f"\n{output.strip()}" if output.strip() else ""
        super().__init__(f"{tool}: {message or f'failed (exit status {status})'}{said}")
        self.tool = tool
        self.message = message
        self.command = tuple(command)
        self.output = output
        self.status = status


class InternalError(MirgenError):
    """A fault of mirgen itself; ``statement`` is the MIR being lowered."""

    def __init__(self, message: str, *, statement: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.statement = statement
