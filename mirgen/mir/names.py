"""Spellings: rustc's verbose texts with regions erased (for comparison) or cut down for people to read."""

from __future__ import annotations

import re
from functools import lru_cache

_OPEN = {"(": ")", "[": "]", "{": "}"}
_REGION = re.compile(r"'(?:\{erased\}|\^[0-9_]+|\?[0-9]+|[A-Za-z_][A-Za-z0-9_]*(?:/#[0-9]+)?)")
#: A constant argument: its bits and type.
LEAF = re.compile(r"ValTree\(Leaf\(0x([0-9a-f]+)\): ([a-z0-9]+)\)")
_CLOSURE_DETAIL = re.compile(r" (?:closure_kind_ty|upvar_tys)=")


def usize_argument(value: int) -> str:
    """rustc's text of a ``usize`` (of 8 bytes) as a constant argument."""
    return f"ValTree(Leaf(0x{value:016x}): usize)"


def skip_group(text: str, start: int) -> int:
    """Index just past the bracket group that opens at ``text[start]``; the end of ``text`` if it never closes.

    ``<`` and ``>`` count as brackets only at ``start``, where ``->`` inside is passed over.
    """
    if text[start] == "<":
        depth = 0
        i = start
        while i < len(text):
            ch = text[i]
            if ch == "<":
                depth += 1
            elif ch == ">" and text[i - 1] != "-":
                depth -= 1
                if depth == 0:
                    return i + 1
            elif ch in _OPEN:
                i = skip_group(text, i)
                continue
            i += 1
        return len(text)
    stack = [_OPEN[text[start]]]
    i = start + 1
    while i < len(text) and stack:
        ch = text[i]
        if ch in _OPEN:
            stack.append(_OPEN[ch])
        elif ch == stack[-1]:
            stack.pop()
        i += 1
    return i


def closure_of_shim(instance: str) -> str | None:
    """The type of the closure behind ``<{closure..} as FnOnce<..>>::call_once - shim``; ``None`` for any other name.

    So rustc names what a closure without captures becomes as a function pointer.
    """
    if not instance.startswith("<{"):
        return None
    end = skip_group(instance, 1)
    rest = instance[end:].partition("<")
    is_shim = rest[0] in (" as core::ops::FnOnce", " as std::ops::FnOnce") and ">::call_once - shim" in rest[2]
    return instance[1:end] if is_shim and " closure_kind_ty=" in instance[:end] else None


def region_end(text: str, start: int) -> int | None:
    """End of the region that starts at ``text[start] == "'"``, or ``None`` where no region starts."""
    m = _REGION.match(text, start)
    if m is None:
        return None
    end = m.end()
    if text.startswith(".Named(", end):
        end = skip_group(text, end + len(".Named"))
    return end


@lru_cache(maxsize=1 << 14)
def erase_regions(text: str) -> str:
    """``text`` with every region as ``'_`` and ``for<..>`` binders dropped: equal texts, equal types."""
    if "'" not in text and "for<" not in text:
        return text
    out: list[str] = []
    i = 0
    while i < len(text):
        ch = text[i]
        if ch == "'" and (end := region_end(text, i)) is not None:
            out.append("'_")
            i = end
        elif ch == "f" and text.startswith("for<", i) and (i == 0 or not (text[i - 1].isalnum() or text[i - 1] == "_")):
            i = skip_group(text, i + 3)
            while i < len(text) and text[i] == " ":
                i += 1
        else:
            out.append(ch)
            i += 1
    return "".join(out)


@lru_cache(maxsize=1 << 14)
def readable(text: str) -> str:
    """``text`` for people: no erased regions, const generics as numbers, closures as their paths.

    Not for comparison and not for reading back.
    """
    text = LEAF.sub(_leaf, erase_regions(text))
    while (detail := _CLOSURE_DETAIL.search(text)) is not None:
        at = detail.start()
        opened = _opening_brace(text, at)
        end = skip_group(text, opened) - 1 if opened >= 0 else len(text)
        text = text[:at] + text[end:]
    text = text.replace("&'_ ", "&").replace("::<'_>", "").replace("<'_>", "").replace(" + '_", "")
    text = re.sub(r"<(?:'_, )+", "<", text)
    return re.sub(r"(?:, '_)+([,>])", r"\1", text)


def _leaf(m: re.Match[str]) -> str:
    bits = int(m[1], 16)
    ty = m[2]
    if ty == "bool":
        return "true" if bits else "false"
    if ty == "char":
        return repr(chr(bits)) if bits < 0x110000 else hex(bits)
    if ty.startswith("i"):
        width = 4 * len(m[1])
        return str(bits - (1 << width) if bits >> (width - 1) else bits)
    return str(bits)


def _opening_brace(text: str, at: int) -> int:
    """The ``{`` that encloses position ``at``, or -1."""
    depth = 0
    for i in range(at - 1, -1, -1):
        if text[i] == "}":
            depth += 1
        elif text[i] == "{":
            if depth == 0:
                return i
            depth -= 1
    return -1
