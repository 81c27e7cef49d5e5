"""What GPU code that panics and the host that explains it agree on."""

from __future__ import annotations

from typing import Final, Literal

#: What a panic on the GPU does before its trap (:mod:`mirgen.targets.device_panic`).
PanicMode = Literal["message", "code", "trap"]

#: A ``u64`` in global memory: the address of the record, of :data:`RECORD_SIZE` bytes, which the host sets.
POINTER: Final = "mirgen_panic"

# The record, in bytes: a site's number plus one where that is all; whether there is more; site, block and thread; the
# words of its values (`mirgen.lower.shown`) and how many; what lies behind those that are addresses, and its size.
CODE, STATE, SITE, BLOCK, THREAD, COUNT, TEXT_SIZE, WORDS = 0, 4, 8, 12, 24, 36, 40, 48
MAX_WORDS: Final = 8
MAX_TEXT: Final = 256
TEXT: Final = WORDS + 8 * MAX_WORDS
RECORD_SIZE: Final = TEXT + MAX_TEXT
