"""What is learnt from a program that makes cargo run again: private items to name, an own core for the host."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from mirgen.cargo.build import CargoBuild, show_building
from mirgen.cargo.closure import STANDARD_CRATES
from mirgen.cargo.expose import expose, standard, use_standard
from mirgen.cargo.metadata import crates_behind
from mirgen.cargo.overlay import Private
from mirgen.cargo.sysroot import build_sysroot, expose_standard
from mirgen.errors import MirgenError


class CargoAgainError(MirgenError):
    """Not an error of anyone's: the next build will be another one, and cargo must run for it."""

    def __init__(self) -> None:
        super().__init__("cargo must run again")


class Lessons:
    """Remembers for the builds in a work folder what they are to see."""

    def __init__(self, build: CargoBuild, *, quiet: bool = False) -> None:
        self._build = build
        self._progress: Callable[[str], None] = (lambda _: None) if quiet else show_building

    def expose(self, items: frozenset[tuple[Path, Private]]) -> bool:
        """Have private items (each with its unit's record) named by the next build; whether any is new."""
        work, toolchain, target = self._build.work_dir, self._build.toolchain, self._build.target
        of_standard = frozenset((record, item) for record, item in items if record.stem in STANDARD_CRATES)
        more = expose(work, items - of_standard)
        if not of_standard:
            return more
        opened = expose_standard(toolchain, [item for _, item in of_standard], target, self._progress)
        return use_standard(work, opened) or more

    def take_own_core(self) -> bool:
        """Have the next build see a core with the MIR of all its functions; whether that is new.

        For the GPU this is so from the start.  On the host a crate may use ``std``, which mirgen does not build: the
        toolchain's own core stays where that is so, and where it is enough.
        """
        work, toolchain, target = self._build.work_dir, self._build.toolchain, self._build.target
        if target != toolchain.host or toolchain.library is None or standard(work) is not None:
            return False
        if "std" in crates_behind(toolchain, self._build.root.metadata):
            return False
        return use_standard(work, build_sysroot(toolchain, target, self._progress))
