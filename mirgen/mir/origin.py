"""Notes on how rustc's inlining brought a statement to where it stands."""

from __future__ import annotations

from mirgen.diagnostics.origin import frames, short_file, user_frame
from mirgen.mir.body import Body
from mirgen.mir.names import readable
from mirgen.mir.statement import SourceInfo


def inline_notes(body: Body, source: SourceInfo) -> tuple[str, ...]:
    """One note for each inlined call between the user's own source and the statement, innermost first.

    Empty where the statement stands in the user's own source.
    """
    chain = frames(body, source)
    out: list[str] = []
    for frame in chain[: user_frame(body, source)]:
        where = "" if frame.span is None else f" at {short_file(frame.span.file)}:{frame.span.line}:{frame.span.col}"
        out.append(f"inlined from `{readable(frame.function)}`{where}")
    return tuple(out)
