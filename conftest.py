"""For all tests of the workspace: real servers, and property tests that no busy machine makes fail."""

from hypothesis import settings

pytest_plugins = ["rayhist_testkit.servers.fixtures"]

settings.register_profile("rayhist", deadline=None)
settings.register_profile("fast", deadline=None, max_examples=8, stateful_step_count=10)
settings.load_profile("rayhist")
