"""What the collector costs, measured on real processes: `python -m rayhist_testkit.bench`."""
