"""Writers for metrics of the user's own."""
