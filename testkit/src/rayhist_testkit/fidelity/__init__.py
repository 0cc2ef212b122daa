"""The fidelity harness: what a live dashboard answered, and what the replay of the dead cluster answers.

`python -m rayhist_testkit.fidelity --help`.  Needs the `demo` extra (Ray and psutil).
"""
