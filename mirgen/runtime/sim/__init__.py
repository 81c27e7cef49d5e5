"""The simulator: kernels as host code, their threads as coroutines that suspend at barriers."""
