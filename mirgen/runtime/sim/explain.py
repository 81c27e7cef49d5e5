"""From a report, a dead worker or a timeout to an exception that says what happened, where, and to whom."""

from __future__ import annotations

import signal

from mirgen.errors import InternalError
from mirgen.runtime.errors import (
    DeviceError,
    Dim3,
    DivergentBarrierError,
    HeapError,
    InvalidMemoryAccessError,
    KernelPanicError,
    KernelTimeoutError,
    KernelTrapError,
    Site,
)
from mirgen.runtime.rust_format import fill_message, place_of
from mirgen.runtime.sim import layout
from mirgen.runtime.sim.guarded import GUARD
from mirgen.runtime.sim.launch import SimLaunch, SimModule


class WorkerDiedError(Exception):
    """``status`` as :mod:`subprocess` gives it: negative for a signal."""

    def __init__(self, status: int) -> None:
        how = f"signal {signal.Signals(-status).name}" if status < 0 else f"exit status {status}"
        super().__init__(how)
        self.status = status


class Explainer:
    """Explains one launch that did not end well."""

    def __init__(self, status: layout.StatusPage, module: SimModule, launch: SimLaunch) -> None:
        self._status = status
        self._module = module
        self._launch = launch

    def of_report(self) -> Exception:
        """What the code reported and then stopped."""
        launch, module = self._launch, self._module
        report = self._status.report
        site = _site(module, report.site)
        block = unlinear(report.block, launch.grid)
        thread = unlinear(report.thread, launch.block)
        match report.kind:
            case layout.PANIC:
                words = report.words[: report.count] if report.count else [report.a, report.b]
                text = bytes(report.text[: report.text_size])
                message = fill_message(site.message, site.args, words, text)
                place = place_of(site, words, text)
                return KernelPanicError(message, kernel=launch.name, block=block, thread=thread, location=place)
            case layout.TRAP:
                return KernelTrapError("executed a trap", kernel=launch.name, block=block, thread=thread)
            case layout.DIVERGENT:
                other = unlinear(report.other_thread, launch.block)
                places = (_where(module, report.site, thread), _where(module, report.other_site, other))
                return DivergentBarrierError(
                    f"divergent barrier: {places[0]}, but {places[1]}",
                    kernel=launch.name, block=block, location=_barrier_location(module, report),
                )  # fmt: skip
            case layout.HEAP:
                return HeapError(_misuse(report), kernel=launch.name, block=block, thread=thread)
            case kind:
                return InternalError(f"the simulator failed without a report (kind {kind})")

    def of_death(self, death: WorkerDiedError) -> Exception:
        """Why the worker died."""
        launch = self._launch
        report = self._status.report
        if not report.published:
            block, thread = self._where_running()
            message = f"the simulator's process died: {death}"
            return DeviceError(message, kernel=launch.name, block=block, thread=thread)
        if report.kind != layout.SIGNAL:
            return self.of_report()
        block = unlinear(report.block, launch.grid)
        thread = unlinear(report.thread, launch.block)
        name = signal.Signals(report.signal).name
        cls: type[DeviceError] = DeviceError
        if report.signal in (signal.SIGSEGV, signal.SIGBUS):
            if _stack_end(report):
                message = "stack overflow"
            else:
                cls, message = InvalidMemoryAccessError, self._address()
        elif report.signal == signal.SIGILL:
            cls, message = KernelTrapError, "executed a trap"
        elif report.signal == signal.SIGFPE:
            message = "integer division by zero or overflow that no check caught (SIGFPE)"
        else:
            message = f"died of {name}"
        return cls(message, kernel=launch.name, block=block, thread=thread)

    def _address(self) -> str:
        """The fault's address in terms of the launch's arrays."""
        report = self._status.report
        address = report.address
        access = "access"
        if report.code:
            access = "write" if report.code & 2 else "read"
        if address == 0 and not report.code & 4:
            # Not a page fault: the address is no canonical one, or the instruction wants an aligned one.
            return "invalid memory access: the address is not canonical or not aligned"
        best: tuple[int, str] | None = None
        for pointer, region in zip(self._launch.pointers, self._status.arrays, strict=False):
            where = _beside(address, region, f"`{pointer.name}`" if pointer.name else "an array")
            if where is not None and (best is None or where[0] < best[0]):
                best = where
        shared = _beside(address, self._status.shared[report.slot], "the block's shared memory")
        if shared is not None and (best is None or shared[0] < best[0]):
            best = shared
        if best is None:
            return f"invalid memory access: a {access} at {address:#x}, which is in no array"
        return f"invalid memory access: a {access} {best[1]}"

    def of_timeout(self, seconds: float | None) -> Exception:
        """Where the launch was when its time was up."""
        launch = self._launch
        block, thread = self._where_running()
        message = f"did not end within {seconds} s"
        return KernelTimeoutError(message, kernel=launch.name, block=block, thread=thread)

    def _where_running(self) -> tuple[Dim3 | None, Dim3 | None]:
        """Block and thread that the first busy operating system thread runs."""
        for slot in self._status.slots:
            if slot.active:
                return unlinear(slot.block, self._launch.grid), unlinear(slot.thread, self._launch.block)
        return None, None


def _misuse(report: layout.Report) -> str:
    """What was done to the heap."""
    match report.site:
        case layout.HEAP_FOREIGN:
            return f"deallocated memory at {report.a:#x}, which was not allocated"
        case layout.HEAP_TWICE:
            return f"deallocated {report.b} bytes at {report.a:#x}, which had been deallocated before"
        case layout.HEAP_OTHER_SIZE:
            return f"deallocated {report.b} bytes where {report.a} had been allocated"
        case layout.HEAP_OTHER_ALIGN:
            return f"deallocated with an alignment of {report.b} what had been allocated with {report.a}"
        case code:
            raise InternalError(f"the simulator's heap reports {code}")


def unlinear(index: int, extent: Dim3) -> Dim3:
    """The 3-D index of a linear one, ``x`` fastest."""
    x, y, _ = extent
    return (index % x, index // x % y, index // (x * y))


def _beside(address: int, region: layout.Region, what: str) -> tuple[int, str] | None:
    """How far ``address`` is from a region, and in words; ``None`` where it is nowhere near."""
    if not region.end:
        return None
    if address < region.start:
        distance, words = region.start - address, f"{region.start - address} bytes before {what}"
    elif address >= region.end:
        distance, words = address - region.end, f"{address - region.end} bytes past the end of {what}"
    else:
        return 0, f"of {what}, which is read-only"
    return (distance, words) if distance <= GUARD else None


def _site(module: SimModule, index: int) -> Site:
    if index < len(module.sites):
        return module.sites[index]
    return Site(f"site {index}")


def _where(module: SimModule, site: int, thread: Dim3) -> str:
    who = f"thread ({thread[0]}, {thread[1]}, {thread[2]})"
    if site == layout.EXITED:
        return f"{who} has left the kernel"
    found = _site(module, site)
    return f"{who} waits at the barrier at {found.location or found.message}"


def _barrier_location(module: SimModule, report: layout.Report) -> str | None:
    site = report.site if report.site != layout.EXITED else report.other_site
    return _site(module, site).location


def _stack_end(report: layout.Report) -> bool:
    """Whether the address lies in the last pages below a thread's stack."""
    low = report.stack - layout.STACK_SIZE
    return low - (1 << 16) <= report.address <= low + (1 << 17)
