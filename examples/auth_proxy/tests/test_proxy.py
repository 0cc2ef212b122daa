import asyncio
from typing import ClassVar

import pytest

from rayhist.errors import ConfigError, Refused
from rayhist_testkit.contracts import AuthContract, PluginContract

SECRET = "0123456789abcdef"


class TestPlugin(PluginContract):
    role, name = "auth", "proxy"


class TestProxy(AuthContract):
    name = "proxy"
    options: ClassVar = {"secret": {"env": "PROXY_SECRET"}}
    good_headers: ClassVar = [
        {"x-proxy-secret": SECRET, "x-forwarded-user": "alice"},
        {"x-proxy-secret": SECRET, "x-forwarded-user": "bob", "x-forwarded-groups": "ops, ml"},
    ]
    bad_headers: ClassVar = [
        {"x-proxy-secret": "not the secret at all", "x-forwarded-user": "alice"},
        {"x-proxy-secret": SECRET},
        {"x-forwarded-user": "alice"},
    ]

    @pytest.fixture(autouse=True)
    def _secret(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PROXY_SECRET", SECRET)

    def test_groups_are_told_apart(self) -> None:
        principal = asyncio.run(self.open_authenticator().authenticate(self.good_headers[1]))
        assert principal.groups == ("ops", "ml")

    def test_a_user_without_the_proxy_is_nobody(self) -> None:
        with pytest.raises(Refused):
            asyncio.run(self.open_authenticator().authenticate({"x-forwarded-user": "alice"}))

    def test_a_short_secret_is_refused_at_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PROXY_SECRET", "short")
        with pytest.raises(ConfigError):
            self.open_authenticator()
