"""The kit of the Ray History Server: contracts for plugins, faults, servers, and a demo cluster."""
