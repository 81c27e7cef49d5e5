"""From PTX or LTO-IR to a cubin, by ptxas or nvJitLink, with the entry points checked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from mirgen.link import nvjitlink, ptxas
from mirgen.link.arch import Arch
from mirgen.link.compile import LtoIrResult
from mirgen.link.cubin import Cubin
from mirgen.link.entries import check_entries
from mirgen.link.ptx_info import parse_ptx
from mirgen.link.worker import Worker

Assembler = Literal["ptxas", "nvjitlink"]


def assemble(
    ptx: str,
    arch: Arch,
    tool: Assembler = "ptxas",
    *,
    kernels: Sequence[str] | None = None,
    opt_level: int = 3,
    debug: bool = False,
    worker: Worker | None = None,
) -> Cubin:
    """The cubin of ``ptx`` for ``arch``; ``kernels`` must all be in it (default: the entries of ``ptx``).

    Raises ToolError: the tool refuses the PTX, or drops a kernel.
    """
    match tool:
        case "ptxas":
            cubin = ptxas.assemble_ptx(ptx, arch, opt_level=opt_level, debug=debug)
        case "nvjitlink":
            cubin = nvjitlink.link([("ptx", ptx.encode())], arch, opt_level=opt_level, debug=debug, worker=worker)
    check_entries(cubin, parse_ptx(ptx).entries if kernels is None else kernels)
    return cubin


def link_ltoir(
    modules: Sequence[LtoIrResult],
    kernels: Sequence[str],
    *,
    opt_level: int = 3,
    debug: bool = False,
    worker: Worker | None = None,
) -> Cubin:
    """The cubin of LTO-IR modules, all for one architecture, with ``kernels`` as its entry points.

    Raises ToolError: nvJitLink refuses a module, or drops a kernel.
    """
    arch = modules[0].arch
    inputs = [("ltoir", module.data) for module in modules]
    cubin = nvjitlink.link(inputs, arch, opt_level=opt_level, debug=debug, worker=worker)
    check_entries(cubin, kernels)
    return cubin
