"""Which functions run a coroutine's body, and which one is its drop glue."""

from __future__ import annotations

import pytest

from mirgen.mir.builder import TypeMaker
from mirgen.mir.coroutine import dropped, resumed
from mirgen.mir.ty import FnDefTy, FnSig, Ty

TY = TypeMaker("k")
COROUTINE = TY.coroutine("f::{closure#0}", [TY.u8], returns=TY.u32)
PINNED = TY.adt("std::pin::Pin", TY.ref(COROUTINE, mut=True))


def function(path: str, *inputs: Ty) -> FnDefTy:
    return FnDefTy(f"fn(..) {{{path}}}", "k", path, FnSig(inputs, TY.unit, "Rust", False, False))


@pytest.mark.parametrize(
    ("method", "first"),
    [
        ("std::ops::Coroutine>::resume", PINNED),
        ("core::ops::Coroutine<u8>>::resume", PINNED),
        ("std::future::Future>::poll", PINNED),
        ("std::iter::Iterator>::next", TY.ref(COROUTINE, mut=True)),
    ],
)
def test_methods_that_are_the_body(method: str, first: Ty) -> None:
    assert resumed(function(f"<{COROUTINE.text} as {method}", first, TY.unit)) is COROUTINE


@pytest.mark.parametrize(
    "path",
    [
        f"<{COROUTINE.text} as a::Future>::poll",  # another trait of that name
        f"<{COROUTINE.text} as std::future::IntoFuture>::into_future",
        f"<&mut {COROUTINE.text} as std::future::Future>::poll",
        "f::poll",
    ],
)
def test_other_functions_of_a_coroutine(path: str) -> None:
    assert resumed(function(path, PINNED)) is None
    assert dropped(function(path, PINNED)) is None


def test_drop_glue() -> None:
    pointer = TY.ptr(COROUTINE, mut=True)
    assert dropped(function(f"core::ptr::drop_in_place::<{COROUTINE.text}>", pointer)) is COROUTINE
    assert dropped(function(f"a::drop_in_place::<{COROUTINE.text}>", pointer)) is None
    assert dropped(function("core::ptr::drop_in_place::<u8>", TY.ptr(TY.u8, mut=True))) is None
