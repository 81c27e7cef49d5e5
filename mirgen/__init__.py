"""Compiles Rust crates to NVIDIA GPU kernels from the MIR that a stock rustc prints."""

from __future__ import annotations

__version__ = "0.1.0"
