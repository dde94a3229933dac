"""Launch layers: programs that start one process per slot for an entry point."""
