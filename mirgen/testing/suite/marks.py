"""Finding tests: the marks that ``#[mirgen::test]`` leaves in a crate that was compiled with ``cfg(test)``."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, cast

from mirgen.cargo.build import CargoBuild
from mirgen.cargo.dump import AllocNumbers, CrateDump
from mirgen.cargo.kernels import MarkedKernel, find_kernels
from mirgen.errors import InternalError
from mirgen.mir.body import Body, MemoryAlloc
from mirgen.mir.place import Constant, SliceConst
from mirgen.mir.rvalue import Use
from mirgen.mir.statement import Assign

Dim3 = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class CrateTest:
    """``symbol`` is its name as a kernel, ``path`` its Rust path in the crate.

    ``shaped``: it is one of a grid, which only mirgen can run.  ``should_panic`` and ``ignored`` are the attributes'
    texts, empty where they have none, ``None`` without the attribute.
    """

    crate: str
    symbol: str
    path: str
    shaped: bool
    grid: Dim3
    block: Dim3
    should_panic: str | None
    ignored: str | None

    @property
    def name(self) -> str:
        """``crate::module::name``."""
        return f"{self.crate}::{self.path}"

    def renamed(self, text: str) -> str:
        """A message about the test, which knows it as a kernel, in the user's words."""
        for kernel in (f"kernel {self.symbol}", f"kernel `{self.path}`", f"kernel `{self.symbol}`"):
            text = text.replace(kernel, f"test `{self.path}`")
        return text


def find_tests(build: CargoBuild) -> tuple[CrateTest, ...]:
    """The tests of the root crate of a build with tests, in the order of its sources' modules.

    Raises:
        ToolError, UnsupportedError: rustc's text could not be read.
    """
    dump = CrateDump(
        build.root, build.shim, build.work_dir / "documents" / "tests", AllocNumbers(), ("--no-side-channel",)
    )
    marked = [kernel for kernel in find_kernels(dump.index) if kernel.test]
    says = {header.header: header for header in dump.index}
    about = [says[_describing(kernel)] for kernel in marked]
    bodies = dump.bodies(about)
    return tuple(
        _test(build.root.crate_name, kernel, _literal(bodies[header], dump))
        for kernel, header in zip(marked, about, strict=True)
    )


def _describing(kernel: MarkedKernel) -> str:
    """The header of the function that holds what the macro says of the test."""
    module, _, name = kernel.path.rpartition("::")
    return f"{module}::__mirgen_test_{name}_is" if module else f"__mirgen_test_{name}_is"


def _literal(body: Body, dump: CrateDump) -> str:
    """The string that a body returns, which is all that it does."""
    match body.blocks[0].statements:
        case (Assign(rvalue=Use(operand=Constant(const=SliceConst(alloc=number, meta=length)))),):
            alloc = dump.allocs[number]
            if isinstance(alloc, MemoryAlloc):
                return alloc.data[:length].decode("ascii")
        case _:
            pass
    raise InternalError(f"`{body.header}` returns no literal")


def _test(crate: str, kernel: MarkedKernel, text: str) -> CrateTest:
    said = cast("dict[str, Any]", json.loads(text))
    return CrateTest(
        crate, kernel.name, kernel.path, said["shaped"], _dim3(said["grid"]), _dim3(said["block"]),
        said["should_panic"], said["ignored"],
    )  # fmt: skip


def _dim3(sizes: list[int]) -> Dim3:
    x, y, z = sizes
    return x, y, z
