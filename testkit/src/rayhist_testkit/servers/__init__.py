"""Real servers for tests, on loopback addresses only.

In a project's outermost `conftest.py`:

    pytest_plugins = ["rayhist_testkit.servers.fixtures"]
"""
