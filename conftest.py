"""Real servers for all tests of the workspace."""

pytest_plugins = ["rayhist_testkit.servers.fixtures"]
