"""Launch layers: programs that an entry point names to start a process for each slot."""
