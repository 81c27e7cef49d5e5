"""Coroutines and the functions of traits that run their bodies.

rustc resolves ``<C as Coroutine>::resume``, ``<C as Future>::poll`` and, of ``gen`` blocks, ``<C as Iterator>::next``
and ``<C as AsyncIterator>::poll_next`` to the body of the coroutine ``C`` itself, with the arguments that the method
has.
"""

from __future__ import annotations

from mirgen.mir.ty import AdtTy, CoroutineTy, FnDefTy, PointerTy, Ty

_BODIES = ("Coroutine>::resume", "Future>::poll", "Iterator>::next", "AsyncIterator>::poll_next")
_ROOTS = ("core::", "std::")
_PINS = frozenset({"core::pin::Pin", "std::pin::Pin", "pin::Pin"})


def resumed(fn: FnDefTy) -> CoroutineTy | None:
    """The coroutine whose body a call of ``fn`` runs."""
    if not fn.sig.inputs:
        return None
    coroutine = held(fn.sig.inputs[0])
    if coroutine is None or not fn.path.startswith(f"<{coroutine.text} as "):
        return None
    trait, _, method = fn.path[len(coroutine.text) + 5 :].rpartition(">::")
    name, _, _ = trait.partition("<")
    standard = name.startswith(_ROOTS) or fn.crate == "core"
    return coroutine if standard and f"{name.rpartition('::')[2]}>::{method}" in _BODIES else None


def dropped(fn: FnDefTy) -> CoroutineTy | None:
    """The coroutine whose drop glue ``fn`` is."""
    coroutine = held(fn.sig.inputs[0]) if len(fn.sig.inputs) == 1 else None
    if coroutine is None:
        return None
    names = (
        f"{root}ptr::{name}::<{coroutine.text}>" for root in (*_ROOTS, "") for name in ("drop_in_place", "drop_glue")
    )
    return coroutine if fn.path in names else None


def held(ty: Ty) -> CoroutineTy | None:
    """The coroutine that is behind the first parameter of its body, ``Pin<&mut C>`` or ``&mut C``, or of its drop
    glue, ``*mut C``."""
    if isinstance(ty, AdtTy) and ty.path in _PINS and len(ty.args) == 1:
        ty = ty.args[0]
    return ty.pointee if isinstance(ty, PointerTy) and isinstance(ty.pointee, CoroutineTy) else None
