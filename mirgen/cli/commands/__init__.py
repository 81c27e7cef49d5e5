"""One module per command; each has ``command``."""
