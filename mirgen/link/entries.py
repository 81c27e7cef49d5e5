"""Nothing may be lost on the way: kernels and parameters of the output are compared with what was asked for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from mirgen.errors import InternalError, ToolError
from mirgen.link.cubin import Cubin


class Placed(Protocol):
    """A parameter with its place in the parameter block, in bytes."""

    @property
    def name(self) -> str:
        """The parameter's name."""
        ...

    @property
    def offset(self) -> int:
        """From the block's start."""
        ...

    @property
    def size(self) -> int:
        """0 for what is no argument."""
        ...


def check_entries(cubin: Cubin, kernels: Sequence[str]) -> None:
    """Every kernel must be an entry point of the cubin, and nothing else; linkers drop kernels without a word."""
    lost = [name for name in kernels if name not in cubin.kernels]
    if lost:
        have = ", ".join(cubin.entries) or "none"
        message = f"the cubin for {cubin.arch} lacks the kernel `{lost[0]}` (it has: {have})"
        raise ToolError(cubin.tool, message, output=cubin.log)
    extra = [name for name in cubin.entries if name not in kernels]
    if extra:
        message = f"the cubin for {cubin.arch} has an entry `{extra[0]}` that is no kernel of this program"
        raise ToolError(cubin.tool, message)


def check_params(kernel: str, expected: Iterable[Placed], actual: Sequence[tuple[int, int]]) -> None:
    """The parameters in the output (offset, size) must lie where rustc's layout has them.

    One parameter may have become several (a slice is a pointer and a length), but each begins with it, none reaches
    beyond it, and none is left over.  Anything else is mirgen's fault: InternalError.
    """
    left = sorted(actual)
    for param in expected:
        if param.size == 0:
            continue
        end = param.offset + param.size
        mine = [(offset, size) for offset, size in left if param.offset <= offset < end]
        if not mine or mine[0][0] != param.offset or mine[-1][0] + mine[-1][1] > end:
            raise InternalError(
                f"kernel `{kernel}`: parameter `{param.name}` should be bytes {param.offset}..{end}, "
                f"but the code generator placed {list(actual)}"
            )
        left = [piece for piece in left if piece not in mine]
    if left:
        raise InternalError(f"kernel `{kernel}`: the output has parameters {left} that the signature does not have")
