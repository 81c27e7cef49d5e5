"""From LLVM IR text to PTX, LTO-IR, cubin and fat binary, with NVIDIA's tools and LLVM; what was made is written down
in a manifest.  Knows nothing of how the IR came about."""

from __future__ import annotations

from mirgen.link.arch import ARCHS, Arch, find_arch, parse_archs
from mirgen.link.assemble import Assembler, assemble, link_ltoir
from mirgen.link.compile import Codegen, LtoIrResult, PtxResult, compile_ltoir, compile_ptx
from mirgen.link.cubin import Cubin, KernelResources
from mirgen.link.discover import Tool, all_tools, find_tool, require_tool
from mirgen.link.entries import check_entries, check_params
from mirgen.link.fatbin import fatbin
from mirgen.link.ptx_info import PtxInfo, parse_ptx
from mirgen.link.worker import Worker

__all__ = [
    "ARCHS",
    "Arch",
    "Assembler",
    "Codegen",
    "Cubin",
    "KernelResources",
    "LtoIrResult",
    "PtxInfo",
    "PtxResult",
    "Tool",
    "Worker",
    "all_tools",
    "assemble",
    "check_entries",
    "check_params",
    "compile_ltoir",
    "compile_ptx",
    "fatbin",
    "find_arch",
    "find_tool",
    "link_ltoir",
    "parse_archs",
    "parse_ptx",
    "require_tool",
]
