"""Allocators that a program brings itself, which mirgen does not use."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from mirgen.analysis.references import References
from mirgen.cargo.build import CargoBuild
from mirgen.cargo.callee import parse_callee
from mirgen.cargo.closure import STANDARD_CRATES, Closure, Reached
from mirgen.cargo.metadata import has_global_allocator
from mirgen.errors import Diagnostic, UnsupportedError
from mirgen.mir.body import Body


def refuse_own_allocator(
    build: CargoBuild, kernels: Mapping[str, tuple[Reached, Closure]], references: Callable[[Body], References]
) -> None:
    """Check that a program whose kernels use the heap leaves the allocator to mirgen.

    Raises:
        UnsupportedError: a crate has a ``#[global_allocator]``.
    """
    from mirgen.intrinsics import heap_table

    calls = heap_table().keys()
    found = next(
        (
            (kernel, reached)
            for kernel, (first, closure) in kernels.items()
            for reached in (first, *closure.functions.values())
            if any(parse_callee(use.fn.path).method in calls for use in references(reached.body).callees)
        ),
        None,
    )
    if found is None:
        return
    kernel, reached = found
    own = (unit for unit in build.units if unit.crate_name not in STANDARD_CRATES)
    bringing = next((unit for unit in own if has_global_allocator(build.toolchain, unit.metadata)), None)
    if bringing is not None:
        raise UnsupportedError(
            Diagnostic(
                code="MG0203",
                message=f"kernel `{kernel}` uses the heap, and crate `{bringing.crate_name}` brings its own allocator",
                notes=[
                    "on the GPU memory comes from CUDA's device heap, which the allocator would not manage",
                    f"reached from kernel {kernel}: {' -> '.join(reached.chain())}",
                ],
                helps=['leave it out of the GPU\'s build: `#[cfg(not(target_arch = "nvptx64"))]`'],
            )
        )
