"""Messages to people: codes and their explanations, rustc's look, rustc's JSON, and where in the source to point."""

from mirgen.diagnostics.origin import Frame, frames, is_users_own, short_file, to_location, user_location

__all__ = ["Frame", "frames", "is_users_own", "short_file", "to_location", "user_location"]
