"""No secret of a runtime environment survives, in whatever JSON it stands, and nothing else changes."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayhist.config import Redaction, convert
from rayhist.errors import ConfigError
from rayhist.redaction import PLACEHOLDER, Redactor, rules

SECRET = "Hunter2-Very"  # nothing in it but its name betrays it
REDACTOR = Redactor(rules(Redaction()))

SECRET_NAMES = [
    "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "HF_TOKEN", "githubToken", "WANDB_API_KEY", "OPENAI_APIKEY",
    "DB_PASSWORD", "PGPASSWORD", "MYSQL_PWD", "REDIS_AUTH", "SENTRY_DSN", "MY_SECRET", "SECRETS_JSON", "KEY",
    "AZURE_STORAGE_CONNECTION_STRING", "AZURE_STORAGE_KEY", "GOOGLE_APPLICATION_CREDENTIALS", "SLACK_WEBHOOK",
    "COOKIE", "x-api-key", "GITHUB_PAT", "passphrase",
]  # fmt: skip
PLAIN_NAMES = [
    "OMP_NUM_THREADS", "PYTHONPATH", "TOKENIZERS_PARALLELISM", "MONKEY", "RAY_worker_niceness", "KEYBOARD",
    "PATH", "HOME", "PWD", "PASSENGERS", "AUTHOR", "CUDA_VISIBLE_DEVICES",
]  # fmt: skip
SECRET_VALUES = [
    "AKIAIOSFODNN7EXAMPLE", "ghp_0123456789abcdefghijABCDEFGHIJ012345", "xoxb-1234567890-abcdefghij",
    "sk-proj-abcdefghijklmnopqrst", "hf_abcdefghijklmnopqrstuvwx", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc",
    "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----", "postgres://u:p4ss@db:5432/x",
    "https://x/y?sig=abc%2Fdef&se=1", "Bearer abcdefghijkl", "AccountName=a;AccountKey=Zm9v;Suffix=x",
    "0123456789abcdef0123456789abcdef", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
]  # fmt: skip
PLAIN_VALUES = [
    "1", "yes", "/usr/lib/python3.11:/opt/Models/v2", "http://proxy.internal:3128", "gcs://_ray_pkg_0a1b2c.zip",
    "max_split_size_mb:512,expandable_segments:True", "info", "s3://bucket/some/Path/2024-01-01",
    "git@github.com:a/b.git",
]  # fmt: skip


def environment(variables: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"working_dir": "gcs://_ray_pkg_766d15b117988a24.zip", "env_vars": variables, **more}


def event(serialized: str) -> dict[str, Any]:
    definition = {"taskId": "x", "serializedRuntimeEnv": serialized, "callSite": 'File "a.py", line 1'}
    return {"eventId": "e", "eventType": "TASK_DEFINITION_EVENT", "taskDefinitionEvent": definition}


FORMS: list[Callable[[dict[str, Any]], Any]] = [
    lambda env: event(json.dumps(env)),
    lambda env: event(json.dumps(env, separators=(",", ":"))),
    lambda env: {"job": {"config": {"serialized_runtime_env": json.dumps(env)}}},
    lambda env: [{"runtime_env": env}, {"deep": [{"ray_actor_options": {"runtime_env": env}}]}],
    lambda env: {"event_data": {"runtime_env_json": json.dumps(env)}},
    lambda env: {"message": json.dumps({"again": json.dumps({"runtime_env": env})})},
    lambda env: {"message": f"said: {json.dumps(env)} and more"},
    lambda env: {"env_vars": env["env_vars"]},
]
COMPACT = {"separators": (",", ":")}


def encodings(document: Any) -> list[bytes]:
    return [
        json.dumps(document, **COMPACT).encode(),
        json.dumps(document, indent=2).encode(),
        json.dumps(document, ensure_ascii=False).encode(),
    ]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", SECRET_NAMES)
def test_what_is_called_a_secret_goes_in_every_form(form: Callable[[dict[str, Any]], Any], name: str) -> None:
    document = form(environment({"PLAIN": "as it was", name: SECRET, "AFTER": "1"}))
    for body in encodings(document):
        text = REDACTOR.redact(body)
        assert text == body.replace(SECRET.encode(), PLACEHOLDER.encode())
        assert REDACTOR.events([b"{}", body])[1] == text


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("value", SECRET_VALUES)
def test_what_looks_like_a_secret_goes_whatever_it_is_called(
    form: Callable[[dict[str, Any]], Any], value: str
) -> None:
    document = form(environment({"PLAIN": value}))
    expected = form(environment({"PLAIN": PLACEHOLDER}))
    assert REDACTOR.redact(json.dumps(document).encode()) == json.dumps(expected).encode()


@pytest.mark.parametrize("form", FORMS)
def test_what_is_none_stays_to_the_byte(form: Callable[[dict[str, Any]], Any]) -> None:
    variables = {name: value for name in PLAIN_NAMES for value in ["1"]}
    variables |= {f"PLAIN_{number}": value for number, value in enumerate(PLAIN_VALUES)}
    for body in encodings(form(environment(variables))):
        assert REDACTOR.redact(body) == body


def test_passwords_in_the_addresses_of_package_indexes_go() -> None:
    env = {"pip": {"packages": ["--index-url https://me:s3cr3t-word@pypi.internal/simple", "torch==2.3"]}}
    for form in FORMS[:5]:
        text = REDACTOR.redact(json.dumps(form(env)).encode())
        assert b"s3cr3t-word" not in text
        assert b"https://<redacted>@pypi.internal/simple" in text
    [text] = REDACTOR.events([json.dumps(event(json.dumps(env)), **COMPACT).encode()])
    assert b"s3cr3t-word" not in text


def test_variables_within_variables_go() -> None:
    inner = json.dumps({"runtime_env": environment({"TOKEN": SECRET})})
    text = REDACTOR.redact(json.dumps(event(json.dumps(environment({"RAY_JOB_CONFIG": inner})))).encode())
    assert SECRET.encode() not in text
    json.loads(json.loads(text)["taskDefinitionEvent"]["serializedRuntimeEnv"])


def test_source_code_beside_a_call_goes() -> None:
    """With call sites switched on, Ray sends the line of the program that gave the variables."""
    for line in (
        f'f.options(runtime_env={{"env_vars": {{"A_TOKEN": "{SECRET}"}}}})',
        f'env_vars={{"KEY": "{SECRET}"}}',
    ):
        body = json.dumps({"callSite": line}).encode()
        assert REDACTOR.events([body]) == [body.replace(SECRET.encode(), PLACEHOLDER.encode())]


@pytest.mark.parametrize("cut", range(20, 160, 7))
def test_a_broken_event_keeps_no_secret(cut: int) -> None:
    """It goes to quarantine, and a sample of it is kept."""
    whole = json.dumps(event(json.dumps(environment({"A": "b", "TOKEN": SECRET, "KEY": SECRET}))), **COMPACT)
    assert SECRET not in REDACTOR.redact(whole.encode()[:-cut]).decode()


def test_an_environment_that_cannot_be_understood_goes_as_a_whole() -> None:
    for broken in (f'{{"env_vars": {{"A": "{SECRET}"', f'["{SECRET}"]', SECRET):
        text = REDACTOR.redact(json.dumps({"serialized_runtime_env": broken}).encode())
        assert json.loads(text) == {"serialized_runtime_env": PLACEHOLDER}


def test_numbers_and_odd_shapes() -> None:
    variables = {"TOKEN": 12345, "KEY": None, "PASSWORD": {"x": [SECRET, True]}, "N": 1, "L": [SECRET]}
    text = REDACTOR.redact(json.dumps({"env_vars": variables}).encode())
    assert json.loads(text)["env_vars"] == {
        "TOKEN": PLACEHOLDER, "KEY": None, "PASSWORD": {"x": [PLACEHOLDER, True]}, "N": 1, "L": [SECRET],
    }  # fmt: skip
    assert b"passw" not in REDACTOR.redact(b'{"env_vars": ["A=1", "TOKEN=passw"], "env_vars": "TOKEN=passw"}')


def test_nesting_without_end_is_no_way_round() -> None:
    text = json.dumps(environment({"TOKEN": SECRET}))
    for _ in range(12):
        text = json.dumps({"runtime_env": text})
    assert SECRET not in REDACTOR.redact(text.encode()).decode()
    deep = b'{"env_vars": {"TOKEN": "' + SECRET.encode() + b'"}, "x": ' + b"[" * 100_000
    assert SECRET.encode() not in REDACTOR.redact(deep)


def test_the_configuration_adds_names_values_and_exceptions() -> None:
    config = Redaction(names=("^ACME_",), values=("corp-[0-9]+",), keep=("public_key",))
    redactor = Redactor(rules(config))
    body = json.dumps(
        environment({"acme_x": "1", "Y": "a corp-77 b", "PUBLIC_KEY": "k", "KEY": "k"})
    ).encode()
    assert json.loads(redactor.redact(body))["env_vars"] == {
        "acme_x": PLACEHOLDER, "Y": PLACEHOLDER, "PUBLIC_KEY": "k", "KEY": PLACEHOLDER,
    }  # fmt: skip
    everything = Redactor(rules(Redaction(all_variables=True)))
    assert json.loads(everything.redact(b'{"env_vars": {"A": "1", "B": ""}}'))["env_vars"] == {
        "A": PLACEHOLDER, "B": "",
    }  # fmt: skip


@pytest.mark.parametrize("field", ["names", "values", "keep"])
def test_a_pattern_that_is_none_is_named(field: str) -> None:
    with pytest.raises(ConfigError, match=rf"\[redaction\] {field}: '\(\['"):
        rules(convert({field: ["(["]}, Redaction, "$"))
    with pytest.raises(ConfigError, match="everything"):
        rules(convert({field: ["x*"]}, Redaction, "$"))


VARIABLES = st.dictionaries(
    st.text(max_size=8) | st.sampled_from(SECRET_NAMES + PLAIN_NAMES),
    st.just(SECRET) | st.text(max_size=12),
    max_size=5,
)
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


def _without(env: dict[str, Any]) -> dict[str, Any]:
    redacted = {
        name: PLACEHOLDER if rules(Redaction()).why(name, value) else value
        for name, value in env["env_vars"].items()
    }
    return env | {"env_vars": redacted}


@given(VARIABLES, PLAIN, st.sampled_from(FORMS), st.booleans(), st.integers(0, 2))
def test_only_the_secret_s_bytes_change(
    variables: dict[str, str], other: Any, form: Callable[[dict[str, Any]], Any], ascii_: bool, style: int
) -> None:
    """The result is what the same program would have printed, had the secrets not been there."""
    env = environment(variables)
    dumped = {"ensure_ascii": ascii_, "indent": style or None}
    before = json.dumps([other, form(env), other], **dumped).encode("utf-8", "surrogatepass")
    after = json.dumps([other, form(_without(env)), other], **dumped).encode("utf-8", "surrogatepass")
    assert REDACTOR.redact(before) == after
    assert REDACTOR.redact(after) == after
    assert list(REDACTOR.events([before])) == [after]


@given(st.dictionaries(st.text(max_size=8), st.text(max_size=12), max_size=3), st.sampled_from(FORMS))
def test_a_masked_log_keeps_every_byte_s_place(
    variables: dict[str, str], form: Callable[[dict[str, Any]], Any]
) -> None:
    env = environment(variables | {"TOKEN": SECRET, "KEY": "ü", "PASS": 12345})
    lines = [b"plain", b"Creating " + json.dumps(env).encode(), json.dumps(form(env)).encode(), b""]
    masked = REDACTOR.mask(b"\n".join(lines))
    assert SECRET.encode() not in masked
    assert [len(line) for line in masked.split(b"\n")] == [len(line) for line in lines]
    json.loads(masked.split(b"\n")[2])
