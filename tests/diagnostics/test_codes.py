"""The code registry against the codes that the sources use."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import mirgen
from mirgen.diagnostics import CODES, explain, find_code
from mirgen.diagnostics.codes import ALL, similar

PACKAGE = Path(mirgen.__file__).parent


def test_the_sources_use_exactly_the_registered_codes() -> None:
    used: dict[str, str] = {}
    for path in PACKAGE.rglob("*.py"):
        if "codes" not in path.parts:
            for name in re.findall(r'"(MG\d{4})"', path.read_text(encoding="utf-8")):
                used.setdefault(name, str(path.relative_to(PACKAGE)))
    missing = {n: where for n, where in used.items() if n not in CODES}
    assert not missing, f"add them to mirgen/diagnostics/codes: {missing}"
    unused = sorted(set(CODES) - set(used))
    assert not unused, f"nothing reports {unused}: another code is used in its place, or it is no longer needed"


def test_no_code_and_no_title_is_given_twice() -> None:
    for said in ([code.name for code in ALL], [code.title for code in ALL]):
        assert not [each for each, count in Counter(said).items() if count > 1]


def test_entries_are_well_formed() -> None:
    for name, code in CODES.items():
        assert name == code.name and re.fullmatch(r"MG\d{4}", name)
        assert not code.title.endswith(".") and "\n" not in code.title
        assert len(code.explanation) > 40 and code.explanation.endswith("\n") and not code.explanation.startswith(" ")


def test_lookup_in_any_spelling() -> None:
    for spelling in ("MG0301", "mg0301", "301", "mg301"):
        found = find_code(spelling)
        assert found is not None and found.name == "MG0301"
    for bad in ("", "MG", "MG9999", "MG00301", "x", "MG-301", "MG٣٠١"):
        assert find_code(bad) is None
    text = explain("MG0101")
    assert text is not None and text.startswith("MG0101: the crate has no kernel\n\n")
    assert explain("MG9999") is None
    assert "MG0301" in similar("MG3001")
