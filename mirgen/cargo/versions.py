"""Several versions of one crate in a program: rustc's texts name a crate by its name alone.

``foo::T`` means one type where a crate sees one ``foo``, however many there are elsewhere.  What could be taken for
another version's is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from mirgen.analysis.references import References
from mirgen.cargo.build import Unit
from mirgen.cargo.callee import PATH_HEAD
from mirgen.cargo.closure import Closure, Reached
from mirgen.cargo.unit import UnitRecord
from mirgen.errors import Diagnostic, UnsupportedError
from mirgen.mir.body import Body
from mirgen.mir.names import erase_regions


def refuse_mixed_versions(
    units: Mapping[str, Sequence[Unit]], kernels: Mapping[str, tuple[Reached, Closure]],
    references: Callable[[Body], References],
) -> None:  # fmt: skip
    """Check that every crate's name means one version in all that ``kernels`` reach.

    Raises:
        UnsupportedError: it does not; one diagnostic for each such crate, with its versions.
    """
    several = {name: tuple(unit.record for unit in same) for name, same in units.items() if len(same) > 1}
    if not several:
        return
    visible = _Visible(unit.record for same in units.values() for unit in same)
    diagnostics: list[Diagnostic] = []
    for name, versions in several.items():
        for kernel, (first, closure) in kernels.items():
            chain = _mixed(name, frozenset(versions), (first, closure), visible, references)
            if chain is not None:
                diagnostics.append(_diagnostic(name, versions, kernel, chain))
                break
    if diagnostics:
        raise UnsupportedError(*diagnostics)


def _mixed(
    name: str, versions: frozenset[Path], kernel: tuple[Reached, Closure], visible: _Visible,
    references: Callable[[Body], References],
) -> tuple[str, ...] | None:  # fmt: skip
    """The way to the first body at which it is not certain which version is meant."""
    first, closure = kernel
    met: set[Path] = set()
    for reached in {id(r.body): r for r in (first, *closure.functions.values())}.values():
        home, parent = reached.dump.unit.record, reached.parent
        seen = visible.of(home) & versions
        if home in versions:
            met.add(home)
            if parent is not None and home not in visible.of(parent.dump.unit.record):
                return reached.chain()
        if len(met) > 1 or (len(seen) > 1 and name in _heads(references(reached.body))):
            return reached.chain()
    met |= {known.dump.unit.record for known in closure.constants.values()} & versions
    return first.chain() if len(met) > 1 else None


def _heads(found: References) -> set[str]:
    """The crates, and modules, with which paths in a body begin."""

    def texts() -> Iterator[str]:
        yield from (text for use in found.callees for text in (use.fn.path, use.fn.text))
        yield from (const.path for const, _ in found.unevaluated)
        yield from (ty.text for ty in found.types)

    return {head for text in texts() for head in PATH_HEAD.findall(erase_regions(text))}


class _Visible:
    """Which units a unit sees: itself, and all that it depends on."""

    def __init__(self, records: Iterable[Path]) -> None:
        self._by_stem = {record.stem: record for record in records}
        self._known: dict[Path, frozenset[Path]] = {}

    def of(self, record: Path) -> frozenset[Path]:
        known = self._known.get(record)
        if known is None:
            externs = UnitRecord.load(record).externs.values()
            direct = [self._by_stem.get(path.stem.removeprefix("lib")) for path in externs]
            known = frozenset({record}).union(*(self.of(each) for each in direct if each is not None))
            self._known[record] = known
        return known


def _diagnostic(name: str, versions: Sequence[Path], kernel: str, chain: Sequence[str]) -> Diagnostic:
    listed = " and ".join(sorted(f"`{UnitRecord.load(record).package}`" for record in versions))
    return Diagnostic(
        code="MG0202",
        message=f"kernel `{kernel}` reaches crate `{name}`, of which this build has several: {listed}",
        notes=[
            "rustc's text names crates without their versions, so that one could be taken for the other",
            f"reached from kernel {kernel}: {' -> '.join(chain)}",
        ],
        helps=["let all crates that the kernel reaches depend on one version (`cargo tree --duplicates`)"],
    )
