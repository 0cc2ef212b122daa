"""For all tests of the workspace: real servers, and property tests that no busy machine makes fail."""

from hypothesis import settings

pytest_plugins = ["rayhist_testkit.servers.fixtures"]

settings.register_profile("rayhist", deadline=None)
settings.load_profile("rayhist")
