"""What can go wrong between Python and a kernel: wrong arguments, and kernels that fail while they run."""

from __future__ import annotations

import re
from dataclasses import dataclass

from mirgen.errors import Diagnostic, InvalidInputError, Location, MirgenError

_PLACE = re.compile(r"^(?P<file>.*):(?P<line>\d+):(?P<col>\d+)$")

Dim3 = tuple[int, int, int]


class ArgumentTypeError(InvalidInputError, TypeError):
    """An argument of the wrong type, in Rust's words."""


class ArgumentValueError(InvalidInputError, ValueError):
    """An argument of the right type whose value, length or layout does not fit."""


class KernelNotFoundError(InvalidInputError, AttributeError):
    """A module has no kernel of that name; the message lists those it has."""


class LaunchError(InvalidInputError, ValueError):
    """A launch configuration beyond the device's limits or against the kernel's own facts."""


@dataclass(frozen=True, slots=True)
class Site:
    """A place in the user's source that the kernel can report by number: its message and ``file:line:col``.

    ``message`` is a Rust format string over values of the kinds ``args``.
    """

    message: str
    location: str | None = None
    args: tuple[str, ...] = ()


class OutputError(MirgenError):
    """A file that the user asked for could not be written."""


class DeviceError(MirgenError):
    """A kernel failed while it ran.  ``block`` and ``thread`` are ``None`` where nobody knows."""

    def __init__(
        self, message: str, *, kernel: str, block: Dim3 | None = None, thread: Dim3 | None = None,
        location: str | None = None,
    ) -> None:  # fmt: skip
        who = "" if block is None else f"block {_dim(block)}"
        if thread is not None:
            who += f", thread {_dim(thread)}"
        text = f"kernel `{kernel}`: {message}"
        if location:
            text += f"\n  --> {location}"
        if who:
            text += f"\n  in {who}"
        super().__init__(text)
        self.message = message
        self.kernel = kernel
        self.block = block
        self.thread = thread
        self.location = location

    def diagnostic(self, what: str | None = None) -> Diagnostic:
        """In the shape of a compiler's message: the place in the source, then ``what`` failed (the kernel), block and
        thread."""
        match = _PLACE.match(self.location or "")
        at = None
        if match is not None:
            line, col = int(match["line"]), int(match["col"])
            at = Location(match["file"], line, col, line, col + 1)
        indices = [("block", self.block), ("thread", self.thread)]
        where = "".join(f", {name} {_dim(value)}" for name, value in indices if value is not None)
        notes = [f"in {what or f'kernel `{self.kernel}`'}{where}"]
        notes += [f"at {self.location}"] if self.location and match is None else []
        return Diagnostic("", self.message, at, notes=notes)


class KernelPanicError(DeviceError):
    """A Rust panic: ``message`` is Rust's own."""


class KernelTrapError(DeviceError):
    """The kernel stopped itself without a message."""


class InvalidMemoryAccessError(DeviceError):
    """A load or store outside every array, or a store to a read-only one."""


class HeapError(DeviceError):
    """Memory was given back to the heap that the heap had not given out, or not so."""


class DivergentBarrierError(DeviceError):
    """Threads of one block wait at different barriers, or some have left the kernel."""


class KernelTimeoutError(DeviceError):
    """The launch did not end in the time that it was given."""


def _dim(value: Dim3) -> str:
    return f"({value[0]}, {value[1]}, {value[2]})"
