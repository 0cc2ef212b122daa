"""A deliberately messy Ray workload that keeps a ledger of what it makes.

Run as a driver: `python -m rayhist_testkit.demo.workload --help`.
"""

DEMO = ("jobs", "actors", "tasks", "groups")
"""Sections that take less than a minute on two cores."""
FULL = (*DEMO, "libraries")
"""All sections."""
LEDGER = "ledger.json"
"""The file that says, when it is there, that all sections are done, and what they made."""
HANGS = "RAYHIST_WORKLOAD_HANGS"
"""In a job's environment: the file that it makes when it hangs."""
DATASET = "doubled"
TRAIN_RUN = "demo-train"
