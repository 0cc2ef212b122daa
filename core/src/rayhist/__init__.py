"""The core of the Ray History Server: layout, events, replay and plugins."""
