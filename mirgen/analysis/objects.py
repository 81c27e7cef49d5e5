"""Trait objects: what loses its type where one is made, and the functions that calls of one run.

Since the whole program is at hand, the table behind a ``&dyn Trait`` is our own.  One belongs to a type, whatever the
trait: the type's size, its alignment, and a word for every method that is called on any trait object.  A trait object
of a trait is one of its supertraits too, without another table.

A method called on ``dyn Trait`` becomes a function of the program, the *dispatcher*, whose body takes the word out of
the table and calls what it stands for: a *shim*, whose body calls the method of the one type.  A word is a shim's
address; where there are few, or where one of them waits at a barrier (which a function called by its address cannot do
in the simulator), it is a shim's number.  Dispatchers and shims are ordinary MIR, so that every later stage sees
ordinary calls, function pointers and drops.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from mirgen.mir import place as p
from mirgen.mir import rvalue as r
from mirgen.mir import statement as s
from mirgen.mir.body import Block, Body, FnKey, Local, Scope
from mirgen.mir.names import erase_regions
from mirgen.mir.ty import (
    AdtTy,
    ArrayTy,
    DynTy,
    FnDefTy,
    FnPtrTy,
    FnSig,
    IntTy,
    NeverTy,
    PointerTy,
    SliceTy,
    TupleTy,
    Ty,
)  # fmt: skip

WORD = 8
#: Where a table holds its type's size and alignment.
SIZE_AT, ALIGN_AT = 0, 8
#: The words before a table's methods.
_HEAD = 2
_NOWHERE = s.SourceInfo(None, None)
_UNWIND = s.Unwind("unreachable")
_PIN = ("core::pin::Pin", "std::pin::Pin")


def unsized(from_: Ty, to: Ty) -> tuple[Ty, Ty] | None:
    """What an unsizing coercion between pointers, or structs that hold one, changes: the innermost type, and what it
    becomes.

    ``([T; N], [T])``, ``(T, dyn Trait)`` or ``(dyn Trait, dyn Super)``; ``None`` where the types do not show it.
    """
    match from_, to:
        case PointerTy(pointee=inner), PointerTy(pointee=outer):
            return _of_pointees(inner, outer)
        case AdtTy(path=path, args=have), AdtTy(path=same, args=want) if path == same and len(have) == len(want):
            found = [
                change for inner, outer in zip(have, want, strict=True)
                if inner != outer and (change := _of_arguments(inner, outer)) is not None
            ]  # fmt: skip
            return found[0] if len(found) == 1 else None
        case _:
            return None


def _of_arguments(inner: Ty, outer: Ty) -> tuple[Ty, Ty] | None:
    """An argument that changes is the pointee (``NonNull<[T; N]>``) or a pointer (``Pin<&[T; N]>``)."""
    found = _of_pointees(inner, outer)
    return unsized(inner, outer) if found is None else found


def _of_pointees(inner: Ty, outer: Ty) -> tuple[Ty, Ty] | None:
    match inner, outer:
        case ArrayTy(), SliceTy():
            return inner, outer
        case _, DynTy():
            return inner, outer
        case AdtTy(path=path, args=have), AdtTy(path=same, args=want) if path == same and len(have) == len(want):
            changed = [
                (one, two) for one, two in zip(have, want, strict=True) if one.text != two.text
            ]  # fmt: skip
            return _of_pointees(*changed[0]) if len(changed) == 1 else None
        case TupleTy(elems=(*_, last)), TupleTy(elems=(*_, other)):
            return _of_pointees(last, other)
        case _:
            return None


def with_pointee(receiver: Ty, pointee: Ty) -> Ty | None:
    """The type of a method's receiver, a pointer to a trait object, with ``pointee`` in the object's place.

    ``None`` where the receiver is not understood.
    """
    match receiver:
        case PointerTy(pointee=DynTy() as old):
            text = receiver.text.removesuffix(old.text)
            return replace(receiver, text=f"{text}{pointee.text}", crate=pointee.crate, pointee=pointee)
        case AdtTy(path=path, args=(PointerTy() as pointer,), const_args=()) if path in _PIN:
            inner = with_pointee(pointer, pointee)
            if inner is None:
                return None
            return replace(
                receiver, text=receiver.text.replace(pointer.text, inner.text), crate=pointee.crate, args=(inner,)
            )
        case _:
            return None


@dataclass(frozen=True, slots=True)
class Signature:
    """How a method is called on a trait object: its receiver, a wide pointer, and what else it takes and gives."""

    receiver: Ty
    args: tuple[Ty, ...]
    output: Ty
    abi: str = "Rust"

    @staticmethod
    def of(body: Body) -> Signature:
        """That of a dispatcher."""
        output, receiver, *args = (local.ty for local in body.locals[: body.arg_count + 1])
        return Signature(receiver, tuple(args), output)

    @property
    def inputs(self) -> tuple[Ty, ...]:
        return self.receiver, *self.args

    @property
    def text(self) -> str:
        """All but the receiver, regions erased: equal where the same code can call both."""
        return erase_regions(f"{self.abi} ({', '.join(ty.text for ty in self.args)}) -> {self.output.text}")

    @property
    def pointer(self) -> FnPtrTy:
        """The type of a shim's address: all of them take the object by a thin pointer."""
        crate = self.receiver.crate
        sig = FnSig((_thin(crate), *self.args), self.output, "Rust", False, False)
        return FnPtrTy(_text(sig), crate, sig)


def drop_signature(pointer: PointerTy) -> Signature:
    """How a trait object behind ``pointer`` is dropped."""
    return Signature(pointer, (), TupleTy("()", pointer.crate, ()))


def dispatcher(name: str, crate: str, signature: Signature, slot: int) -> Body:
    """The function ``name`` that a call on a trait object is: it calls what word ``slot`` of the table points at."""
    make = _Maker(name, crate, signature.output, signature.inputs)
    data, target = make.taking(signature, slot, signature.pointer)
    args = (p.Copy(data), *make.rest)
    return make.calling(p.Copy(target), args, diverges=isinstance(signature.output, NeverTy))


def choosing_dispatcher(
    name: str, crate: str, signature: Signature, slot: int, targets: Sequence[FnKey]
) -> Body:  # fmt: skip
    """The same where the word is a number: the place of a shim among ``targets``, or a larger one for none."""
    make = _Maker(name, crate, signature.output, signature.inputs)
    data, number = make.taking(signature, slot, IntTy("usize", crate, 64, False))
    return make.choosing(p.Copy(number), [(*key, signature.pointer.sig) for key in targets], (p.Copy(data), *make.rest))


def shim(name: str, item: FnDefTy, source: s.Span | None) -> Body:
    """The function ``name`` with the signature of ``item``, which it calls."""
    make = _Maker(name, item.crate, item.sig.output, item.sig.inputs, s.SourceInfo(source, None))
    args = tuple(p.Move(p.Place(1 + i)) for i in range(len(item.sig.inputs)))
    return make.calling(p.Constant(p.ZstConst(item)), args, diverges=isinstance(item.sig.output, NeverTy))


def drop_shim(name: str, ty: Ty, source: s.Span | None) -> Body:
    """The function ``name`` that drops the ``ty`` behind a pointer."""
    pointer = PointerTy(f"*mut {ty.text}", ty.crate, ty, True, False)
    unit = TupleTy("()", ty.crate, ())
    make = _Maker(name, ty.crate, unit, (pointer,), s.SourceInfo(source, None))
    return make.ending(s.Drop(make.source, p.Place(1, (p.Deref(),)), 1, _UNWIND))


def absent(name: str, signature: Signature) -> Body:
    """The function ``name`` in the place of a method that no object of a type can have: it ends the program."""
    crate = signature.receiver.crate
    make = _Maker(name, crate, signature.output, (_thin(crate), *signature.args))
    return make.calling(_abort(crate), (), diverges=True, result=make.local(NeverTy("!", crate)))


def _abort(crate: str) -> p.Operand:
    path = "core::intrinsics::abort"
    sig = FnSig((), NeverTy("!", crate), "Rust", False, False)
    return p.Constant(p.ZstConst(FnDefTy(f"fn() -> ! {{{path}}}", crate, path, sig)))


class _Maker:
    """A body of one block and its end, or of one that chooses what is called."""

    def __init__(
        self, name: str, crate: str, output: Ty, inputs: Sequence[Ty], source: s.SourceInfo = _NOWHERE
    ) -> None:  # fmt: skip
        self.source = source
        self._name = name
        self._crate = crate
        self._arg_count = len(inputs)
        self._locals = [Local(ty, True, None, None) for ty in (output, *inputs)]
        self._statements: list[s.Statement] = []

    def local(self, ty: Ty) -> p.Place:
        self._locals.append(Local(ty, True, None, None))
        return p.Place(len(self._locals) - 1)

    def let(self, ty: Ty, value: r.Rvalue) -> p.Place:
        place = self.local(ty)
        self._statements.append(s.Assign(self.source, place, value))
        return place

    @property
    def rest(self) -> tuple[p.Operand, ...]:
        """The arguments behind the first."""
        return tuple(p.Move(p.Place(2 + i)) for i in range(self._arg_count - 1))

    def taking(self, signature: Signature, slot: int, word: Ty) -> tuple[p.Place, p.Place]:
        """The first argument's address and word ``slot`` of its table."""
        crate = self._crate
        words = PointerTy(f"*const {word.text}", crate, word, False, False)
        receiver = p.Place(1)
        if isinstance(signature.receiver, AdtTy):  # a `Pin`, whose only field it is
            receiver = p.Place(1, (p.Field(0, signature.receiver.args[0]),))
        data = self.let(_thin(crate), r.Cast("PtrToPtr", p.Copy(receiver), _thin(crate)))
        table = self.let(words, r.UnaryOp("PtrMetadata", p.Copy(receiver)))
        number = p.Constant(p.ScalarConst(IntTy("usize", crate, 64, False), _HEAD + slot, WORD))
        at = self.let(words, r.BinaryOp("Offset", p.Copy(table), number))
        return data, self.let(word, r.Use(p.Copy(p.Place(at.local, (p.Deref(),)))))

    def choosing(
        self, number: p.Operand, targets: Sequence[tuple[str, str, FnSig]], args: tuple[p.Operand, ...]
    ) -> Body:
        """Calls one of ``targets`` (crate, path and signature), by its number, and otherwise ends the program."""
        last = len(targets) + 1
        diverges = isinstance(self._locals[0].ty, NeverTy)
        arms = tuple((i, i + 1) for i in range(len(targets)))
        blocks = [Block(False, tuple(self._statements), s.SwitchInt(self.source, number, arms, last))]
        for crate, path, sig in targets:
            func = p.Constant(p.ZstConst(FnDefTy(f"{_text(sig)} {{{path}}}", crate, path, sig)))
            call = s.Call(self.source, p.Place(0), func, args, None if diverges else last + 1, _UNWIND)
            blocks.append(Block(False, (), call))
        never = self.local(NeverTy("!", self._crate))
        blocks.append(Block(False, (), s.Call(self.source, never, _abort(self._crate), (), None, _UNWIND)))
        if not diverges:
            blocks.append(Block(False, (), s.Return(self.source)))
        return self._body(blocks)

    def calling(
        self, func: p.Operand, args: tuple[p.Operand, ...], *, diverges: bool, result: p.Place | None = None
    ) -> Body:
        target = None if diverges else 1
        return self.ending(s.Call(self.source, result or p.Place(0), func, args, target, _UNWIND))

    def ending(self, terminator: s.Terminator) -> Body:
        blocks = [Block(False, tuple(self._statements), terminator)]
        if not (isinstance(terminator, s.Call) and terminator.target is None):
            blocks.append(Block(False, (), s.Return(self.source)))
        return self._body(blocks)

    def _body(self, blocks: Sequence[Block]) -> Body:
        scope = Scope(None, None, False, None)
        return Body(
            self._crate, "fn", self._name, None, self._arg_count, tuple(self._locals), (scope,), tuple(blocks),
            self.source.span,
        )  # fmt: skip


def _thin(crate: str) -> PointerTy:
    unit = TupleTy("()", crate, ())
    return PointerTy("*const ()", crate, unit, False, False)


def _text(sig: FnSig) -> str:
    output = "" if sig.output.text == "()" else f" -> {sig.output.text}"
    return f"fn({', '.join(ty.text for ty in sig.inputs)}){output}"
