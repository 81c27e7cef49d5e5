"""Planted faults: mistakes that an engineer could make in the lowering, and whether the tests see each of them.

:data:`mirgen.testing.faults.table.FAULTS` lists them as changes of text; :mod:`mirgen.testing.faults.trial` applies one
to a copy of the package and runs the tests on that.
"""
