"""Which of the bodies that drop coroutines belongs to one that resumes one."""

from __future__ import annotations

import pytest

from mirgen.cargo.dump import drops_what
from mirgen.ingest import Header

COROUTINE = "{static f::{closure#0} upvar_tys=(u32,) resume_ty=() yield_ty=() return_ty=u32}"


def header(first: str) -> Header:
    return Header("f::{closure#0}", None, "fn", 1, (first,), "()")


@pytest.mark.parametrize("drop", ["*mut ", "&'{erased} mut "])
@pytest.mark.parametrize("resume", [f"std::pin::Pin<&'{{erased}} mut {COROUTINE}>", f"&'{{erased}} mut {COROUTINE}"])
def test_both_are_of_one_type(drop: str, resume: str) -> None:
    assert drops_what(header(f"{drop}{COROUTINE}"), header(resume))
    assert not drops_what(header(f"{drop}{COROUTINE.replace('u32', 'u8')}"), header(resume))
    assert not drops_what(header(f"{drop}u8"), header(resume))
