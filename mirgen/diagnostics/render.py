"""A :class:`Diagnostic` as rustc shows it: for people, in one line, or as rustc's JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from mirgen.diagnostics.codes import find_code
from mirgen.diagnostics.colour import Palette
from mirgen.diagnostics.snippet import Mark, draw, gutter_width
from mirgen.diagnostics.sources import SourceMap
from mirgen.errors import Diagnostic, Location

Level = Literal["error", "warning", "note"]


@dataclass(frozen=True, slots=True)
class Renderer:
    """``sources`` finds the snippets; ``colours`` is off by default."""

    sources: SourceMap = field(default_factory=SourceMap)
    colours: Palette = field(default_factory=Palette)

    def human(self, diagnostic: Diagnostic, level: Level = "error") -> str:
        """Header, snippet, notes and helps; ends with a newline."""
        c = self.colours
        paint = {"error": c.error, "warning": c.warning, "note": c.note}[level]
        code = f"[{diagnostic.code}]" if diagnostic.code else ""
        out = [paint(f"{level}{code}") + c.strong(f": {diagnostic.message}")]
        marks = self._marks(diagnostic)
        width = gutter_width(marks) if marks else 0
        files = list(dict.fromkeys(m.location.file for m in marks))
        for i, file in enumerate(files):
            here = [m for m in marks if m.location.file == file]
            first = here[0].location
            if i > 0:
                out.append(c.frame(f"{'':{width}} |"))
            arrow = c.frame(f"{'':{width}}--> " if i == 0 else f"{'':{width}}::: ")
            out.append(f"{arrow}{file}:{first.line}:{first.col}")
            lines = self.sources.lines(file)
            out += draw(lines, here, width, c) if lines is not None else self._bare_labels(here, width)
        if marks and (diagnostic.notes or diagnostic.helps):
            out.append(c.frame(f"{'':{width}} |"))
        for kind, text in _children(diagnostic):
            out += self._child(kind, text, width)
        return "\n".join(out) + "\n"

    def short(self, diagnostic: Diagnostic, level: Level = "error") -> str:
        """``src/lib.rs:3:5: error[MG0301]: message``."""
        at = diagnostic.location
        where = f"{at.file}:{at.line}:{at.col}: " if at else ""
        code = f"[{diagnostic.code}]" if diagnostic.code else ""
        return f"{where}{level}{code}: {diagnostic.message}\n"

    def json(self, diagnostic: Diagnostic, level: Level = "error") -> str:
        """One line in the shape of ``rustc --error-format=json``."""
        known = find_code(diagnostic.code)
        code = {"code": diagnostic.code, "explanation": known.explanation if known else None}
        message: dict[str, object] = {
            "$message_type": "diagnostic",
            "message": diagnostic.message,
            "code": code if diagnostic.code else None,
            "level": level,
            "spans": [self._json_span(m) for m in self._marks(diagnostic)],
            "children": [
                {"message": text, "code": None, "level": kind, "spans": [], "children": [], "rendered": None}
                for kind, text in _children(diagnostic)
            ],
            "rendered": self.human(diagnostic, level),
        }
        return json.dumps(message, ensure_ascii=False) + "\n"

    def _marks(self, diagnostic: Diagnostic) -> list[Mark]:
        marks = [Mark(diagnostic.location, diagnostic.label, True)] if diagnostic.location else []
        return marks + [Mark(location, label, False) for location, label in diagnostic.labels]

    def _bare_labels(self, marks: Sequence[Mark], width: int) -> list[str]:
        """The labels alone, where the source cannot be read."""
        bar = self.colours.frame(f"{'':{width}} =")
        return [f"{bar} {m.label} (line {m.location.line})" for m in marks if m.label]

    def _child(self, kind: str, text: str, width: int) -> list[str]:
        first, *rest = text.split("\n")
        rule = " " * width + " ="
        head = f"{self.colours.frame(rule)} {self.colours.strong(kind)}: {first}"
        return [head, *(f"{'':{width + len(kind) + 5}}{line}".rstrip() for line in rest)]

    def _json_span(self, mark: Mark) -> dict[str, object]:
        at = mark.location
        lines = self.sources.lines(at.file)
        start, end = _byte_range(lines, at)
        return {
            "file_name": at.file,
            "byte_start": start,
            "byte_end": end,
            "line_start": at.line,
            "line_end": at.end_line,
            "column_start": at.col,
            "column_end": at.end_col,
            "is_primary": mark.primary,
            "text": _json_text(lines, at),
            "label": mark.label or None,
            "suggested_replacement": None,
            "suggestion_applicability": None,
            "expansion": None,
        }


def _children(diagnostic: Diagnostic) -> list[tuple[str, str]]:
    return [*(("note", n) for n in diagnostic.notes if n), *(("help", h) for h in diagnostic.helps if h)]


def _json_text(lines: Sequence[str] | None, at: Location) -> list[dict[str, object]]:
    out: list[dict[str, object]] = []
    for number in range(at.line, at.end_line + 1):
        if lines is None or not 0 < number <= len(lines):
            continue
        text = lines[number - 1]
        start = at.col if number == at.line else len(text) - len(text.lstrip()) + 1
        end = at.end_col if number == at.end_line else len(text) + 1
        out.append({"text": text, "highlight_start": start, "highlight_end": end})
    return out


def _byte_range(lines: Sequence[str] | None, at: Location) -> tuple[int, int]:
    """Byte offsets in the file; zeroes where it cannot be read."""
    if lines is None:
        return 0, 0
    before = [len(line.encode()) + 1 for line in lines]

    def offset(line: int, col: int) -> int:
        text = lines[line - 1] if 0 < line <= len(lines) else ""
        return sum(before[: max(line - 1, 0)]) + len(text[: max(col - 1, 0)].encode())

    return offset(at.line, at.col), offset(at.end_line, at.end_col)
