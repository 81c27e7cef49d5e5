"""The header of a golden program: lines ``//@ name: value`` at its top, which say what is checked."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, get_args

from mirgen.errors import InvalidInputError
from mirgen.link.arch import find_arch

Kind = Literal["pass", "refuse", "panic"]
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
Lane = Literal["cpu-o0", "cpu-o3"]
LANES: Final[tuple[Lane, ...]] = get_args(Lane)

#: Directives by what they are for; the help of a wrong one lists them.
_KNOWN: Final = {
    "run": KINDS[:1], "ll": KINDS[:1], "ptx": KINDS[:1], "arch": KINDS[:1], "lanes": ("pass", "panic"),
    "error": ("refuse",), "panic": ("panic",), "edition": KINDS,
}  # fmt: skip
_LINE: Final = re.compile(r"^//@\s*(?P<name>[\w-]*)(?P<colon>:?)\s*(?P<value>.*?)\s*$")
_COUNT: Final = re.compile(r"^(?P<text>.*?)(?:\s+count=(?P<count>\d+))?$")


@dataclass(frozen=True, slots=True)
class PtxCheck:
    """``text`` stands in the PTX of the program's own functions ``count`` times, or at all where that is ``None``."""

    text: str
    count: int | None


@dataclass(frozen=True, slots=True)
class Header:
    """What is checked.

    ``run``: the program's tests, in ``lanes``.  ``ll`` names functions whose IR is compared, ``ptx`` what their PTX for
    ``archs`` must hold.  ``errors`` are the codes of a refusal, ``panic`` is a panic's message.
    """

    kind: Kind
    run: bool
    ll: tuple[str, ...] = ()
    ptx: tuple[PtxCheck, ...] = ()
    archs: tuple[str, ...] = ("sm_90",)
    lanes: tuple[Lane, ...] = LANES
    errors: tuple[str, ...] = ()
    panic: str = ""
    edition: str = "2021"


def read_header(path: Path, kind: Kind) -> Header:
    """The header of a file.

    Raises:
        InvalidInputError: a directive that is unknown, is not for this kind, or makes no sense; names file and line.
    """
    found: dict[str, list[tuple[str, str]]] = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if line.startswith("//@"):
            name, value = _directive(line, kind, f"{path}:{number}")
            found.setdefault(name, []).append((value, f"{path}:{number}"))
    return _header(found, kind, path)


def _directive(line: str, kind: Kind, where: str) -> tuple[str, str]:
    match = _LINE.match(line)
    name = match["name"] if match is not None else ""
    if match is None or name not in _KNOWN:
        close = difflib.get_close_matches(name, _KNOWN, 1)
        hint = f"did you mean `{close[0]}`?" if close else f"there are {', '.join(_KNOWN)}"
        raise InvalidInputError(f"unknown directive `{name}`; {hint}", where)
    if kind not in _KNOWN[name]:
        raise InvalidInputError(f"`{name}` is not for programs in {kind}/", where)
    if bool(match["value"]) == (name == "run") or (match["colon"] == "") != (name == "run"):
        form = "//@ run" if name == "run" else f"//@ {name}: .."
        raise InvalidInputError(f"the form is `{form}`", where)
    return name, match["value"]


def _header(found: dict[str, list[tuple[str, str]]], kind: Kind, path: Path) -> Header:
    wanted = {"refuse": "error", "panic": "panic"}.get(kind)
    if wanted is not None and wanted not in found:
        raise InvalidInputError(f"a program in {kind}/ needs `//@ {wanted}: ..`", f"{path}:1")
    if kind == "pass" and not {"run", "ll", "ptx"} & found.keys():
        raise InvalidInputError("nothing is checked: `//@ run`, `//@ ll: ..` or `//@ ptx: ..`", f"{path}:1")
    once = ("run", "lanes", "panic", "edition")
    for name in once:
        if len(found.get(name, ())) > 1:
            raise InvalidInputError(f"`{name}` is given twice", found[name][1][1])

    def words(name: str) -> list[tuple[str, str]]:
        return [(word, where) for value, where in found.get(name, ()) for word in re.split(r"[,\s]+", value)]

    for word, where in words("lanes"):
        if word not in LANES:
            raise InvalidInputError(f"no lane `{word}`; there are {', '.join(LANES)}", where)
    for word, where in words("edition"):
        if word not in ("2021", "2024"):
            raise InvalidInputError(f"no edition `{word}`", where)
    for word, where in words("error"):
        if re.fullmatch(r"MG\d{4}", word) is None:
            raise InvalidInputError(f"no code `{word}`", where)
    given = {word for word, _ in words("lanes")}
    return Header(
        kind,
        "run" in found or kind == "panic",
        tuple(word for word, _ in words("ll")),
        tuple(_ptx(value) for value, _ in found.get("ptx", ())),
        tuple(find_arch(word).name for word, _ in words("arch")) or ("sm_90",),
        tuple(lane for lane in LANES if not given or lane in given),
        tuple(sorted(word for word, _ in words("error"))),
        "\n".join(value for value, _ in found.get("panic", ())).replace("\\n", "\n"),
        "".join(word for word, _ in words("edition")) or "2021",
    )


def _ptx(value: str) -> PtxCheck:
    match = _COUNT.match(value)
    assert match is not None  # it matches every line
    return PtxCheck(match["text"], None if match["count"] is None else int(match["count"]))
