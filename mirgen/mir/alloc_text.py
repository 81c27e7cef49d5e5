"""Allocations as rustc prints them: sixteen bytes a line, pointers drawn over the bytes they take."""

from __future__ import annotations

from mirgen.mir import body as m

_PER_LINE = 16
_POINTER = 8
_OTHER = {
    "vtable": "{}",
    "typeid": "{}",
    "static_unprinted": "static: {}",
    "static_error": "static: {}, error during initializer evaluation",
    "extern_static": "extern static: {}",
    "deallocated": "deallocated",
}


def format_alloc(number: int, alloc: m.Alloc) -> str:
    """``alloc7 (size: 4, align: 4) {..}``."""
    head = f"alloc{number} ("
    match alloc:
        case m.FnAlloc(instance):
            return f"{head}fn: {instance})"
        case m.OtherAlloc(what, text):
            return head + _OTHER[what].format(text) + ")"
        case m.MemoryAlloc(static, align, data):
            name = "" if static is None else f"static: {static}, "
            head += f"{name}size: {len(data)}, align: {align})"
            return f"{head} {{\n" + "".join(_lines(alloc)) + "}" if data else f"{head} {{}}"


class _Lines:
    """Collects cells; a line ends after sixteen bytes."""

    def __init__(self, size: int) -> None:
        self.out: list[str] = []
        self._width = len(f"{size:x}") if size > _PER_LINE else 0
        self._start = 0
        self._cells = ""
        self._ascii = ""

    def room(self, at: int) -> int:
        """Bytes left in the line at byte ``at``; begins the next line where there are none."""
        if at == self._start + _PER_LINE:
            self.end()
            self._start = at
        return self._start + _PER_LINE - at

    def next_line(self) -> None:
        """Ends the line inside a pointer."""
        self.end()
        self._start += _PER_LINE

    def cell(self, text: str, ascii_: str) -> None:
        self._cells += (" " if self._cells else "") + text
        self._ascii += ascii_

    def end(self) -> None:
        address = f"0x{self._start:0{self._width}x} │ " if self._width else ""
        pad = "   " * (_PER_LINE - len(self._ascii))
        self.out.append(f"    {address}{self._cells}{pad} │ {self._ascii}\n")
        self._cells = self._ascii = ""


def _lines(alloc: m.MemoryAlloc) -> list[str]:
    lines = _Lines(len(alloc.data))
    uninit = {i for start, end in alloc.uninit for i in range(start, end)}
    pointers = {x.at: x for x in alloc.relocations}
    at = 0
    while at < len(alloc.data):
        room = lines.room(at)
        if (pointer := pointers.get(at)) is not None:
            _pointer(lines, pointer, room)
            at += _POINTER
        elif at in uninit:
            lines.cell("__", "░")
            at += 1
        else:
            byte = alloc.data[at]
            lines.cell(f"{byte:02x}", chr(byte) if 0x20 <= byte < 0x7F else ".")
            at += 1
    lines.end()
    return lines.out


def _pointer(lines: _Lines, pointer: m.Relocation, room: int) -> None:
    offset = pointer.offset & ((1 << 64) - 1)
    tail = f"{pointer.alloc}" + (f"+{offset:#x}" if offset else "")
    whole = 3 * (_POINTER - 1)
    target = f"alloc{tail}" if len(f"alloc{tail}") <= whole else f"a{tail}"
    if room >= _POINTER:
        lines.cell(f"╾{_oversized(target, whole):─^{whole}}╼", "╾" + "─" * (_POINTER - 2) + "╼")
        return
    rest = _POINTER - room
    first, second = 3 * room - 2, 3 * (rest - 1) + 1
    fits_below = second > first and second >= len(target)
    above = "" if fits_below else _oversized(target, first)
    lines.cell(f"╾{above:─^{first}}", "╾" + "─" * (room - 1))
    lines.next_line()
    lines.cell(f"{target if fits_below else '':─^{second}}╼", "─" * (rest - 1) + "╼")


def _oversized(target: str, width: int) -> str:
    return f"{target} ({_POINTER} ptr bytes)" if len(target) > width else target
