"""The collector: records what one Ray node says, shows and writes, on local disk first, then into sinks."""
