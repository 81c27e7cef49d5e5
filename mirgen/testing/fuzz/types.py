"""The types of random programs.  All are ``Copy``; a value of any type can be written down and folded into a hash."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias


@dataclass(frozen=True, slots=True)
class Int:
    """An integer; ``usize`` has 64 bits in every lane."""

    name: str
    bits: int
    signed: bool

    @property
    def low(self) -> int:
        return -(1 << (self.bits - 1)) if self.signed else 0

    @property
    def high(self) -> int:
        return (1 << (self.bits - self.signed)) - 1

    @property
    def unsigned(self) -> Int:
        return INTS["u" + self.name[1:]]

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Float:
    """``f32`` or ``f64``."""

    bits: int

    def __str__(self) -> str:
        return f"f{self.bits}"


@dataclass(frozen=True, slots=True)
class Bool:
    """``bool``."""

    def __str__(self) -> str:
        return "bool"


@dataclass(frozen=True, slots=True)
class Char:
    """``char``."""

    def __str__(self) -> str:
        return "char"


@dataclass(frozen=True, slots=True)
class NonZero:
    """An integer that is never 0, which leaves a niche."""

    of: Int

    def __str__(self) -> str:
        return f"core::num::NonZero<{self.of}>"


@dataclass(frozen=True, slots=True)
class Tuple:
    """A tuple of two or more, or none."""

    of: tuple[Ty, ...]

    def __str__(self) -> str:
        return f"({', '.join(map(str, self.of))})"


@dataclass(frozen=True, slots=True)
class Array:
    """An array of at least one element."""

    of: Ty
    length: int

    def __str__(self) -> str:
        return f"[{self.of}; {self.length}]"


@dataclass(frozen=True, slots=True)
class Slice:
    """What a reference to a slice points at; no value has this type."""

    of: Ty

    def __str__(self) -> str:
        return f"[{self.of}]"


@dataclass(frozen=True, slots=True)
class Variant:
    """A variant with its fields, by name or by number, and perhaps its discriminant."""

    name: str
    fields: tuple[tuple[str, Ty], ...]
    named: bool
    discriminant: int | None = None


@dataclass(frozen=True, slots=True)
class Struct:
    """A struct of the program; ``equal`` where it derives ``PartialEq``."""

    name: str
    fields: tuple[tuple[str, Ty], ...]
    named: bool
    attributes: str = ""
    equal: bool = False

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Enum:
    """An enum of the program, or ``Option`` and ``Result``, whose ``prefix`` is empty."""

    name: str
    prefix: str
    variants: tuple[Variant, ...]
    attributes: str = ""
    equal: bool = False

    @property
    def plain(self) -> bool:
        """Whether ``as`` makes an integer of it."""
        return bool(self.prefix) and not any(variant.fields for variant in self.variants)

    def path(self, variant: Variant) -> str:
        """How a value of the variant begins."""
        return self.prefix + variant.name if self.prefix else f"{variant.name}::{self.name[self.name.index('<') :]}"

    def __str__(self) -> str:
        return self.name


Ty: TypeAlias = Int | Float | Bool | Char | NonZero | Tuple | Array | Slice | Struct | Enum

INTS: Final[dict[str, Int]] = {
    f"{sign}{word}": Int(f"{sign}{word}", bits, sign == "i")
    for sign in "ui"
    for word, bits in (("8", 8), ("16", 16), ("32", 32), ("64", 64), ("128", 128), ("size", 64))
}
U32, U64, USIZE = INTS["u32"], INTS["u64"], INTS["usize"]
FLOATS: Final = (Float(32), Float(64))
BOOL, CHAR, UNIT = Bool(), Char(), Tuple(())


def option(of: Ty) -> Enum:
    """``Option<of>``."""
    return Enum(f"Option<{of}>", "", (Variant("None", (), False), Variant("Some", (("0", of),), False)))


def result(ok: Ty, error: Ty) -> Enum:
    """``Result<ok, error>``."""
    variants = (Variant("Ok", (("0", ok),), False), Variant("Err", (("0", error),), False))
    return Enum(f"Result<{ok}, {error}>", "", variants)


def fields_text(fields: tuple[tuple[str, Ty], ...], named: bool, public: str = "") -> str:
    """Fields as they are declared."""
    if named:
        return " { " + ", ".join(f"{public}{name}: {ty}" for name, ty in fields) + " }"
    return "(" + ", ".join(f"{public}{ty}" for _, ty in fields) + ")" if fields else ""


def declaration(ty: Struct | Enum) -> str:
    """The item that declares a struct or an enum."""
    derived = "Clone, Copy, PartialEq" if ty.equal else "Clone, Copy"
    head = f"{ty.attributes}#[derive({derived})]\n"
    if isinstance(ty, Struct):
        end = "" if ty.named else ";"
        return f"{head}pub struct {ty.name}{fields_text(ty.fields, ty.named, 'pub ')}{end}"
    variants = [
        f"{variant.name}{fields_text(variant.fields, variant.named)}"
        + (f" = {variant.discriminant}" if variant.discriminant is not None else "")
        for variant in ty.variants
    ]
    return f"{head}pub enum {ty.name} {{ {', '.join(variants)} }}"


def constructed(prefix: str, fields: tuple[tuple[str, Ty], ...], named: bool, values: list[str]) -> str:
    """A value of a struct or variant in Rust."""
    if named:
        return (
            f"({prefix} {{ {', '.join(f'{name}: {value}' for (name, _), value in zip(fields, values, strict=True))} }})"
        )
    return f"{prefix}({', '.join(values)})" if fields else prefix


def simplest(ty: Ty) -> str:
    """The least value of a type, as shrinking writes it."""
    match ty:
        case Int():
            return f"0{ty}"
        case Float():
            return f"0.0{ty}"
        case Bool():
            return "false"
        case Char():
            return "'a'"
        case NonZero():
            return f"core::num::NonZero::<{ty.of}>::MAX"
        case Tuple():
            return f"({', '.join(map(simplest, ty.of))})"
        case Array():
            return f"[{simplest(ty.of)}; {ty.length}]"
        case Struct():
            return constructed(ty.name, ty.fields, ty.named, [simplest(field) for _, field in ty.fields])
        case Enum():
            first = min(ty.variants, key=lambda variant: len(variant.fields))
            values = [simplest(field) for _, field in first.fields]
            return constructed(ty.path(first), first.fields, first.named, values)
        case Slice():
            raise ValueError("a slice is no value")


def comparable(ty: Ty) -> bool:
    """Whether ``==`` compares its values: no floats, and of core's types only those whose comparison rustc inlines."""
    match ty:
        case Int() | Bool() | Char() | NonZero():
            return True
        case Tuple():
            return all(map(comparable, ty.of))
        case Array():
            return isinstance(ty.of, Int | Bool | Char)
        case Enum() if not ty.prefix:
            inside = [field for variant in ty.variants for _, field in variant.fields]
            return all(
                isinstance(field, Bool | Char) or (isinstance(field, Int) and field.bits < 128) for field in inside
            )
        case Struct() | Enum():
            return ty.equal
        case Float() | Slice():
            return False
