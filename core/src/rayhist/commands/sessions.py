"""`rayhist sessions`: what is recorded in the archive."""
