"""What a call gives to the parameters of a generic body: its signature tells it, and paths where that does not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from mirgen.cargo.callee import parse_callee, without_regions
from mirgen.cargo.closure import GenericAnswer, Item
from mirgen.cargo.closures import arguments_of_trait
from mirgen.cargo.dump import CrateDump
from mirgen.cargo.substitute import Bindings, Json, NotSubstitutedError, is_bare, is_opaque
from mirgen.cargo.within import declared_parameters
from mirgen.mir.body import Body
from mirgen.mir.coroutine import held
from mirgen.mir.names import erase_regions, skip_group
from mirgen.mir.ty import ClosureTy, CoroutineTy, FnDefTy, Ty


def bindings_of(item: Item, body: Body, types: Mapping[str, Ty]) -> Bindings | None:
    """What ``item``'s signature makes of ``body``'s generic parameters; ``None`` where they do not fit.

    ``types`` are those that the call's document holds, by their text without regions.
    """
    bindings = Bindings(known=types)
    params = [local.ty for local in body.locals[1 : body.arg_count + 1]]
    if isinstance(item, FnDefTy):
        pairs = [*zip(params, item.sig.inputs, strict=False)]
        if not is_opaque(item.sig.output):  # what an `impl Trait` is, the body says
            pairs.append((body.locals[0].ty, item.sig.output))
        fits = len(params) == len(item.sig.inputs) and all(bindings.bind(mine, theirs) for mine, theirs in pairs)
        return bindings if fits else None
    receiver = getattr(params[0], "pointee", params[0]) if params else None
    if params and isinstance(item, CoroutineTy):
        receiver = held(params[0])
    if not isinstance(receiver, ClosureTy | CoroutineTy) or not bindings.bind(receiver, item):
        return None
    # Parameters that only the closure's body uses are told by the path of the function around it.
    for name, argument in _named_arguments(receiver.path, item.path):
        ty = types.get(argument)
        if is_bare(name) and ty is not None and not bindings.bind_param(name, ty):
            return None
    return bindings


def bind_items(answer: GenericAnswer, table: Iterable[Json], bindings: Bindings) -> None:
    """Bind the parameters of an answer that only others' bounds speak of."""
    for entry in table:
        item = answer.items.get(entry["text"].partition("/#")[0]) if entry["kind"] == "param" else None
        if item is not None and not bindings.bind_param(entry["text"], item):
            raise NotSubstitutedError(f"`{entry['text']}` is not `{item.text}`, for which it was asked")


def bind_declared(item: FnDefTy, body: Body, home: CrateDump, bindings: Bindings) -> None:
    """Bind the type parameters of a function that its signature does not hold, as its path gives them: the names are
    those that the function's source declares.

    Raises:
        NotSubstitutedError: the signature tells something else of a parameter.
    """
    arguments = _own_arguments(item.path)
    if not arguments or _argument_count(item) == bindings.count:
        return
    names = declared_parameters(body, parse_callee(item.path).method, home)
    if names is None or len(names) != len(arguments):
        return
    for name, argument in zip(names, arguments, strict=True):
        ty = bindings.known.get(argument)
        if ty is not None and not bindings.bind_param(name, ty):
            raise NotSubstitutedError(f"`{name}` is not `{argument}`, which the call gives")


def arguments_in(item: Item) -> list[str]:
    """The texts of the generic arguments, other than regions, that ``item``'s path gives."""
    own = _own_arguments(item.path) if isinstance(item, FnDefTy) else _arguments_around(item.path)
    return [*arguments_of_trait(item.path), *own]


def _own_arguments(path: str) -> list[str]:
    """The generic arguments, other than regions, that a path gives to the function itself."""
    text, method = erase_regions(path), parse_callee(path).method
    at = text.rfind(f"{method}::<")
    if at < 0 or skip_group(text, at + len(method) + 2) != len(text):
        return []
    return without_regions(text[at + len(method) + 3 : -1])


def _arguments_around(closure: str) -> list[str]:
    """The generic arguments, other than regions, of the function that a closure's path names."""
    outside = [segment for segment in parse_callee(closure).segments[:-1] if not segment.startswith("{")]
    around = outside[-1] if outside else ""
    if not around.endswith(">") or around.startswith("<"):
        return arguments_of_trait(closure)
    return without_regions(around[around.index("<") + 1 : -1])


def _named_arguments(own: str, closure: str) -> list[tuple[str, str]]:
    """The arguments that ``closure``, a path, gives to the function around it and to the trait whose method that is, by
    the names that its own path in its crate has for them."""
    names, arguments = _arguments_around(own), _arguments_around(closure)
    pairs = [*zip(names, arguments, strict=True)] if len(names) == len(arguments) else []
    traits, given = arguments_of_trait(own), arguments_of_trait(closure)
    if not traits and len(given) == 1:  # a method that the trait itself has a body of
        pairs.append(("Self", given[0]))
    elif traits and len(traits) == len(given):
        pairs += zip(traits, given, strict=True)
    return list(dict.fromkeys(pairs))


def _argument_count(item: Item) -> int | None:
    """How many generic arguments, other than regions, ``item``'s path gives; ``None`` where an impl's are not told."""
    if "<impl " in item.path or isinstance(item, ClosureTy | CoroutineTy):
        return None
    return sum(len(without_regions(group)) for group in parse_callee(item.path).generics)


def all_bound_in(item: Item, body: Body, bindings: Bindings) -> bool:
    """Whether nothing in ``body`` can be a parameter that ``bindings`` lack."""
    if isinstance(item, FnDefTy):
        return _argument_count(item) == bindings.count
    coroutine = held(body.locals[1].ty) if isinstance(item, CoroutineTy) else None
    # All parameters of a function that is in no implementation and no other body stand in its path.
    if coroutine is None or any(segment[0] in "<{" for segment in parse_callee(coroutine.path).segments[:-1]):
        return False
    names = [name.partition("/#")[0] for name in _arguments_around(coroutine.path)]
    return all(name in bindings.types or name in bindings.consts for name in names)
