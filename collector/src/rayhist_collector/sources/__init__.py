"""The built-in sources: what Ray posts, what it writes to files, and what only its dashboard says."""
