"""Which functions of a program wait for others: those that the simulator has to bring into their kernels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from mirgen.cargo.closure import Reached, Resolver, called_item
from mirgen.mir.body import FnKey
from mirgen.targets.host import HostTarget


def waiting_functions(
    functions: Mapping[FnKey, Reached], targets: Iterable[Mapping[FnKey, Iterable[FnKey]]], resolver: Resolver
) -> frozenset[FnKey]:
    """The functions that reach a barrier; ``targets`` are what some of them call through trait objects."""
    host = HostTarget()
    callers: dict[FnKey, set[FnKey]] = {}
    found: set[FnKey] = set()
    for key, reached in functions.items():
        for use in resolver.references(reached.body).callees:
            item = called_item(use.fn)
            if host.suspends(use.fn.path):
                found.add(key)
            elif item is not None:
                callers.setdefault((item.crate, item.path), set()).add(key)
    for known in targets:
        for key, callees in known.items():
            for callee in callees:
                callers.setdefault(callee, set()).add(key)
    stack = list(found)
    while stack:
        new = callers.get(stack.pop(), set()) - found
        found |= new
        stack += new
    return frozenset(found)
