"""Filing as a session what no collector recorded: temp dirs, gathered logs, a live dashboard."""
