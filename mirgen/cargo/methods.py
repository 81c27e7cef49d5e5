"""Methods on trait objects: what their names say, their words in the tables, and the functions made for them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

from mirgen.analysis.objects import Signature, dispatcher, drop_shim, shim, with_pointee
from mirgen.cargo.callee import parse_callee, short, split_arguments
from mirgen.cargo.std_paths import behind_std
from mirgen.cargo.substitute import Spelling
from mirgen.mir.body import Body, FnKey
from mirgen.mir.names import erase_regions, skip_group
from mirgen.mir.statement import SourceInfo
from mirgen.mir.ty import (
    AdtTy,
    ArrayTy,
    ClosureTy,
    CoroutineTy,
    FnDefTy,
    FnPtrTy,
    FnSig,
    PointerTy,
    SliceTy,
    TupleTy,
    Ty,
)  # fmt: skip

#: A method: the crate that spells it, the trait, the name, and what it takes and gives, which a ``dyn``'s associated
#: types decide.  Dropping is a method of every trait's objects.
SlotKey: TypeAlias = tuple[str, str, str, str]
DROP: SlotKey = ("", "", "drop", "")
DROP_PATH = "core::ptr::drop_in_place::<"


@dataclass(frozen=True, slots=True)
class DynCall:
    """A trait's method on a trait object: ``<of as trait>::method``, regions erased."""

    of: str
    trait: str
    method: str

    @property
    def is_own(self) -> bool:
        """Whether the trait is the object's own: then its table holds the method."""
        return without_bindings(principal(self.of)) == self.trait


def dyn_call(fn: FnDefTy) -> DynCall | None:
    """What ``fn`` is as a method on a trait object; ``None`` where it is none."""
    parsed = parse_callee(fn.path)
    if parsed.trait is None or not parsed.segments[0].startswith("<"):
        return None
    of, trait = parsed.trait
    return DynCall(of, trait, parsed.method) if of.startswith(("dyn ", "(dyn ")) else None


def principal(text: str) -> str:
    """The first trait of a ``dyn``'s text, which is the only one with methods; regions erased."""
    inner = erase_regions(text)
    inner = (inner[1:-1] if inner.startswith("(") else inner).removeprefix("dyn ")
    return before(inner, " + ")


def before(text: str, word: str) -> str:
    """``text`` up to the first ``word`` outside of all brackets."""
    i = 0
    while i < len(text):
        if text.startswith(word, i):
            return text[:i]
        i = skip_group(text, i) if text[i] in "<([{" else i + 1
    return text


def without_bindings(trait: str) -> str:
    """A trait's text without the associated types: ``Fn<(u8,), Output = u8>`` becomes ``Fn<(u8,)>``."""
    at = trait.find("<")
    if at < 0:
        return trait
    args = [arg.strip() for arg in split_arguments(trait[at + 1 : -1])]
    kept = [arg for arg in args if before(arg, " = ") == arg]
    return f"{trait[:at]}<{', '.join(kept)}>" if kept else trait[:at]


@dataclass(frozen=True, slots=True)
class Slot:
    """A word of every table, and how its method is called, in the words of the crate in its key."""

    number: int
    signature: Signature


class Methods:
    """What is known of methods on trait objects, for all kernels of a build: their words in the tables never change."""

    def __init__(self, externs: frozenset[str]) -> None:
        self._externs = externs
        self._slots: dict[SlotKey, Slot] = {}
        self._bodies: dict[FnKey, Body] = {}
        #: rustc's answers: the methods in the table of a ``dyn``, by crate and text
        self.tables: dict[tuple[str, str], frozenset[tuple[str, str]]] = {}

    def is_virtual(self, fn: FnDefTy, call: DynCall) -> bool | None:
        """Whether a call goes through the table; ``None`` where rustc must be asked.

        A trait that is no supertrait is implemented for the ``dyn`` itself, and its methods are ordinary functions.
        """
        if call.is_own:
            return True
        entries = self.tables.get((fn.crate, call.of))
        return None if entries is None else (short(call.trait), call.method) in entries

    def slot(self, key: SlotKey, signature: Signature) -> Slot:
        return self._slots.setdefault(key, Slot(len(self._slots), signature))

    def items(self) -> list[tuple[SlotKey, Slot]]:
        """Every method, in the order of the tables' words."""
        return list(self._slots.items())

    def dispatcher(self, fn: FnDefTy, slot: Slot) -> Body:
        """The function that stands for ``fn``; calls from wherever share it."""
        key = (fn.crate, fn.path)
        if key not in self._bodies:
            self._bodies[key] = dispatcher(fn.path, fn.crate, slot.signature, slot.number)
        return self._bodies[key]

    def _speller(self, crate: str, to: str) -> Callable[[str], str]:
        """Texts of ``crate`` in the words of ``to``, which does not say its own name."""
        spell = Spelling("" if crate == to else crate, self._externs - {crate})
        own = re.compile(rf"(?<![\w:]){to}::")
        return spell if crate == to else lambda text: behind_std(own.sub("", spell(text)), to)

    def body(self, key: FnKey) -> Body:
        """A function that was made here."""
        return self._bodies[key]

    def shim(self, key: SlotKey, ty: Ty, source: SourceInfo, words: str | None = None) -> tuple[FnKey, Body]:
        """The function behind the word of ``key`` in the table of ``ty``; ``words`` are those that the crate of ``ty``
        has for the trait, where they are known."""
        spelled = erase_regions(ty.text)
        if key == DROP:
            name = (ty.crate, f"{DROP_PATH}{spelled}> - shim(vtable, {ty.crate})")
            return name, self._bodies.setdefault(name, drop_shim(name[1], ty, source.span))
        crate, trait, method, _ = key
        spell = self._speller(crate, ty.crate)
        path = f"<{ty.text} as {words or spell(trait)}>::{method}"
        name = (ty.crate, f"{erase_regions(path)} - shim(vtable, {ty.crate})")
        if name not in self._bodies:
            signature = self._slots[key].signature
            receiver = with_pointee(signature.receiver, ty)
            assert receiver is not None, "`_signature` lets no other through"
            same = crate == ty.crate
            args = signature.args if same else tuple(respelled(arg, spell, ty.crate) for arg in signature.args)
            output = signature.output if same else respelled(signature.output, spell, ty.crate)
            sig = FnSig((receiver, *args), output, signature.abi, False, False)
            text = f"fn({', '.join(each.text for each in sig.inputs)}) -> {output.text} {{{path}}}"
            self._bodies[name] = shim(name[1], FnDefTy(text, ty.crate, path, sig), source.span)
        return name, self._bodies[name]


def respelled(ty: Ty, spell: Callable[[str], str], crate: str) -> Ty:
    """A type in the words of ``crate``."""

    def each(types: tuple[Ty, ...]) -> tuple[Ty, ...]:
        return tuple(respelled(one, spell, crate) for one in types)

    def signature(sig: FnSig) -> FnSig:
        return replace(sig, inputs=each(sig.inputs), output=respelled(sig.output, spell, crate))

    new = replace(ty, text=spell(ty.text), crate=crate)
    match new:
        case TupleTy(elems=elems):
            return replace(new, elems=each(elems))
        case PointerTy(pointee=pointee):
            return replace(new, pointee=respelled(pointee, spell, crate))
        case ArrayTy(elem=elem) | SliceTy(elem=elem):
            return replace(new, elem=respelled(elem, spell, crate))
        case AdtTy(path=path, args=args, const_args=consts):
            return replace(new, path=spell(path), args=each(args), const_args=tuple(map(spell, consts)))
        case FnPtrTy(sig=sig):
            return replace(new, sig=signature(sig))
        case FnDefTy(path=path, sig=sig):
            return replace(new, path=spell(path), sig=signature(sig))
        case CoroutineTy(path=path, upvars=upvars):
            inside = [respelled(one, spell, crate) for one in (new.resume, new.yields, new.returns)]
            return replace(
                new, path=spell(path), upvars=each(upvars), resume=inside[0], yields=inside[1], returns=inside[2]
            )  # fmt: skip
        case ClosureTy(path=path, sig=sig, upvars=upvars):
            own = None if sig is None else signature(sig)
            return replace(new, path=spell(path), sig=own, upvars=each(upvars))
        case _:
            return new
