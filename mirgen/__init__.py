"""Compiles Rust crates to NVIDIA GPU kernels from the MIR that a stock rustc prints.

``mirgen.load("crate")`` gives the crate's kernels as Python callables; see `mirgen.runtime`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mirgen.runtime import LaunchConfig, SimOptions, asarray, empty, load, zeros

__version__ = "0.1.0"

__all__ = ["LaunchConfig", "SimOptions", "__version__", "asarray", "empty", "load", "zeros"]


def __getattr__(name: str) -> object:
    """The public names of `mirgen.runtime`, which is loaded only when one of them is used."""
    if name in __all__:
        import mirgen.runtime

        return getattr(mirgen.runtime, name)
    raise AttributeError(f"module `mirgen` has no attribute `{name}`")
