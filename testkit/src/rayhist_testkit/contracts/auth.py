"""What a way to log in has to keep to: it says who somebody is, or refuses; nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from rayhist.auth import Authenticator
from rayhist.errors import Refused
from rayhist.plugins import Plugins, options_of
from rayhist_testkit.contracts.base import Contract, run
from rayhist_testkit.contracts.stores import failure

Headers = Mapping[str, str]

STRANGE: Sequence[Headers] = [
    {"authorization": ""},
    {"authorization": "Bearer"},
    {"authorization": "Bearer "},
    {"authorization": "bearer \udcff\xff\x00"},
    {"authorization": "Bearer " + "x" * 100_000},
    {"authorization": "Basic dXNlcjpwYXNz"},
    {"authorization": "Negotiate ====", "cookie": "a=b; =; ;;;, \"'"},
    {"cookie": "\x00=\xff"},
    {"x-ray-authorization": "Bearer a b c"},
]


class AuthContract(Contract):
    """Say which: `name = "token"`; its options; and which headers it has to take and to refuse."""

    name: ClassVar[str]
    options: ClassVar[dict[str, Any]] = {}
    good_headers: ClassVar[Sequence[Headers]] = []
    """Headers of somebody who may enter; names in lower case."""
    bad_headers: ClassVar[Sequence[Headers]] = []
    """Headers with a wrong credential."""
    anonymous: ClassVar[bool] = False
    """Whether somebody without any credential may enter."""

    def open_authenticator(self) -> Authenticator:
        """The authenticator, opened as the server opens it."""
        kind = Plugins.discover().auth(self.name)
        return kind.open(options_of(kind, self.options, "$.options"))

    def test_the_mode_is_one_the_dashboard_knows(self) -> None:
        assert self.open_authenticator().mode in {"disabled", "token"}

    def test_good_headers_give_a_name(self) -> None:
        assert self.good_headers, "give `good_headers`"
        authenticator = self.open_authenticator()
        for headers in self.good_headers:
            principal = run(authenticator.authenticate(headers))
            assert principal.name, headers
            assert all(isinstance(group, str) for group in principal.groups)

    def test_the_same_headers_give_the_same_principal(self) -> None:
        authenticator = self.open_authenticator()
        for headers in self.good_headers:
            assert run(authenticator.authenticate(headers)) == run(authenticator.authenticate(headers))

    def test_a_wrong_credential_is_refused(self) -> None:
        assert self.bad_headers or self.anonymous, "give `bad_headers`"
        authenticator = self.open_authenticator()
        for headers in self.bad_headers:
            run(failure(authenticator.authenticate(headers), Refused, f"a request with {headers}"))

    def test_no_credential_is_a_401(self) -> None:
        authenticator = self.open_authenticator()
        if self.anonymous:
            assert run(authenticator.authenticate({})).name
            return
        error = run(failure(authenticator.authenticate({}), Refused, "a request without credentials"))
        assert not error.authenticated, "nobody is known to be refused: the client has to log in"

    def test_strange_headers_are_refused_and_nothing_else(self) -> None:
        authenticator = self.open_authenticator()
        for headers in STRANGE:
            attempt = authenticator.authenticate(headers)
            if self.anonymous:
                assert run(attempt).name
            else:
                run(failure(attempt, Refused, f"a request with {str(headers)[:80]}"))
