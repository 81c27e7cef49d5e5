"""Programs that nobody here wrote: rustc's own tests, fetched when they are wanted and never copied in."""
