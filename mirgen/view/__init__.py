"""Code of every stage as people read it: functions out of MIR, LLVM IR, PTX and SASS, with the Rust lines between.

Knows the texts only: nothing here compiles.
"""

from __future__ import annotations

from mirgen.view.choose import NoChoiceError, choose, list_items
from mirgen.view.listing import Item, Line, interleave
from mirgen.view.llvmir import llvm_items
from mirgen.view.mir import mir_items
from mirgen.view.ptx import ptx_items
from mirgen.view.sass import disassemble, sass_items

__all__ = [
    "Item",
    "Line",
    "NoChoiceError",
    "choose",
    "disassemble",
    "interleave",
    "list_items",
    "llvm_items",
    "mir_items",
    "ptx_items",
    "sass_items",
]
