"""Configuration: file and environment become frozen structs, and every mistake is named with its place."""

from __future__ import annotations

import json
import re
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayhist import config, describe
from rayhist.config import ByteSize, Config, Secret, load
from rayhist.errors import ConfigError


def written(folder: Path, name: str, text: str) -> str:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return str(path)


TOML = """
[storage]
url = "s3://bucket/prefix"
options = { region = "eu-west-1", secret = { env = "ACME" } }
[server]
port = 9000
[cache]
max_bytes = "20GiB"
"""
YAML = """
storage:
  url: s3://bucket/prefix
  options: {region: eu-west-1, secret: {env: ACME}}
server: {port: 9000}
cache: {max_bytes: 20GiB}
"""
JSON = """{"storage": {"url": "s3://bucket/prefix", "options":
{"region": "eu-west-1", "secret": {"env": "ACME"}}},
"server": {"port": 9000}, "cache": {"max_bytes": "20GiB"}}"""


def test_no_file_at_all_is_a_configuration() -> None:
    loaded = load(None, {})
    assert loaded == Config()
    assert loaded.storage_url().startswith("file:///")
    assert loaded.server.host == "127.0.0.1"
    assert loaded.auth.kind == "none"


@pytest.mark.parametrize(
    ("name", "text"),
    [("a.toml", TOML), ("a.conf", TOML), ("a.yaml", YAML), ("a.YML", YAML), ("a.json", JSON)],
)
def test_three_formats_say_the_same(tmp_path: Path, name: str, text: str) -> None:
    loaded = load(written(tmp_path, name, text), {})
    assert loaded.storage.url == "s3://bucket/prefix"
    assert loaded.storage.options == {"region": "eu-west-1", "secret": {"env": "ACME"}}
    assert loaded.server.port == 9000
    assert loaded.cache.max_bytes == 20 * 2**30


def test_the_file_is_the_given_one_else_that_of_the_environment(tmp_path: Path) -> None:
    one = written(tmp_path, "one.toml", "[server]\nport = 1")
    two = written(tmp_path, "two.toml", "[server]\nport = 2")
    assert load(one, {"RAYHIST_CONFIG": two}).server.port == 1
    assert load(None, {"RAYHIST_CONFIG": two}).server.port == 2
    assert load(None, {"RAYHIST_CONFIG": ""}).server.port == Config().server.port


@pytest.mark.parametrize("name", ["a.yaml", "a.toml", "a.json"])
def test_an_empty_file_is_a_configuration_or_a_clear_error(tmp_path: Path, name: str) -> None:
    path = written(tmp_path, name, "")
    if name.endswith(".json"):
        with pytest.raises(ConfigError, match=r"a\.json"):
            load(path, {})
    else:
        assert load(path, {}) == Config()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[server]\nport = 65536", r"`int` <= 65535 - at `\$\.server\.port`"),
        ("[server]\nport = '9000'", r"Expected `int`, got `str` - at `\$\.server\.port`"),
        ("[server]\nprot = 1", r"unknown field `prot` - at `\$\.server`"),
        ("[sevrer]\nport = 1", r"unknown field `sevrer` - at `\$`"),
        ("server = 1", r"\$\.server"),
        ("[cache]\nmax_bytes = 'plenty'", r"write 512MiB.*\$\.cache\.max_bytes"),
        ("[cache]\nmax_bytes = -1", r"negative.*\$\.cache\.max_bytes"),
        ("[collector]\nheartbeat_interval_s = 0", r"\$\.collector\.heartbeat_interval_s"),
        ("[cluster]\nkind = 'raycron'", r"\$\.cluster\.kind"),
        ("[server\nport = 1", "a.toml"),
        ("[server]\nport = 1\nport = 2", "a.toml"),
        ("x = " + "[" * 5000, "a.toml"),
    ],
)
def test_a_mistake_is_named_with_file_and_place(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(ConfigError, match=says) as caught:
        load(written(tmp_path, "a.toml", text), {})
    assert "a.toml" in str(caught.value)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.json", "[1]"),
        ("a.json", "[" * 100_000),
        ("a.yaml", "- a"),
        ("a.yaml", "just text"),
        ("a.yaml", "a: [b"),
        ("a.yaml", "1: 2"),
        ("a.yaml", "!!python/object/apply:os.system [true]"),
    ],
)
def test_a_document_that_is_no_table_is_refused(tmp_path: Path, name: str, text: str) -> None:
    with pytest.raises(ConfigError, match=name):
        load(written(tmp_path, name, text), {})


def test_a_file_that_cannot_be_read_is_named_with_the_remedy(tmp_path: Path) -> None:
    (tmp_path / "latin.toml").write_bytes(b"a = '\xff'")
    for path in (tmp_path / "missing.toml", tmp_path, tmp_path / "latin.toml"):
        with pytest.raises(ConfigError, match="cannot be read") as caught:
            load(str(path), {})
        assert "--config" in (caught.value.remedy or "")


def test_the_environment_is_laid_over_the_file(tmp_path: Path) -> None:
    path = written(tmp_path, "a.toml", TOML)
    loaded = load(
        path,
        {
            "RAYHIST__SERVER__PORT": "9001",
            "RAYHIST__STORAGE__URL": "file:///x",
            "RAYHIST__STORAGE__OPTIONS__REGION": "us-east-1",
            "RAYHIST__STORAGE__OPTIONS__SECRET": '{ file = "/run/secret" }',
            "RAYHIST__COLLECTOR__SOURCES": '["ray-events"]',
            "RAYHIST__COLLECTOR__LABELS__TEAM": "blue",
            "RAYHIST__CACHE__MAX_BYTES": "1 MB",
            "RAYHIST__AUTH__KIND": "token",
            "RAYHIST_OTHER": "left alone",
        },
    )
    assert loaded.server.port == 9001
    assert loaded.storage.url == "file:///x"
    assert loaded.storage.options == {"region": "us-east-1", "secret": {"file": "/run/secret"}}
    assert loaded.collector.sources == ("ray-events",)
    assert loaded.collector.labels == {"team": "blue"}
    assert loaded.cache.max_bytes == 1_000_000


@pytest.mark.parametrize("text", ["2026-11-30", "12:00:00", "a b", "x = 1", "", "line\nbreak", "[unclosed"])
def test_a_text_of_the_environment_stays_that_text(text: str) -> None:
    assert load(None, {"RAYHIST__CLUSTER__NAME": text}).cluster.name == text


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("RAYHIST__SERVR__PORT", "1"),
        ("RAYHIST__SERVER__PORT", "many"),
        ("RAYHIST__SERVER", "1"),
        ("RAYHIST__", "1"),
        ("RAYHIST__CLUSTER__NAME", "12"),
    ],
)
def test_a_mistake_in_the_environment_names_the_variable(variable: str, value: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(f"${variable}")) as caught:
        load(None, {variable: value})
    assert caught.value.remedy


def test_a_number_of_the_environment_can_be_quoted_to_be_a_text() -> None:
    assert load(None, {"RAYHIST__CLUSTER__NAME": '"12"'}).cluster.name == "12"


def test_a_value_that_nests_too_deeply_is_a_text() -> None:
    assert load(None, {"RAYHIST__CLUSTER__NAME": "[" * 5000}).cluster.name == "[" * 5000


def test_a_variable_below_something_that_is_no_section_is_named() -> None:
    with pytest.raises(ConfigError, match="RAYHIST__SERVER__PORT__X"):
        load(None, {"RAYHIST__SERVER__PORT": "1", "RAYHIST__SERVER__PORT__X": "1"})


@given(
    st.dictionaries(st.from_regex(r"RAYHIST__[A-Z_]{0,20}", fullmatch=True), st.text(max_size=20), max_size=3)
)
def test_any_environment_is_a_configuration_or_a_mistake(environment: dict[str, str]) -> None:
    try:
        assert isinstance(load(None, environment), Config)
    except ConfigError:
        return


@pytest.mark.parametrize(
    ("value", "size"),
    [
        (0, 0),
        (123, 123),
        ("123", 123),
        ("1kB", 1000),
        ("1 KiB", 1024),
        ("1.5GiB", 3 * 2**29),
        (" 20 gib ", 20 * 2**30),
        ("9007199254740993", 9007199254740993),
        ("1TB", 10**12),
    ],
)
def test_sizes_are_numbers_or_texts_with_a_unit(value: object, size: int) -> None:
    assert ByteSize.parse(value) == size


@pytest.mark.parametrize(
    "value", ["", "plenty", "1 EiB", "-1", "1e3", "1.", "٣", "1" * 31, -1, 1e400, None, True, [1], "1 MB x"]
)
def test_other_sizes_are_refused(value: object) -> None:
    with pytest.raises(ValueError, match="number of bytes"):
        ByteSize.parse(value)


@given(st.text(max_size=12) | st.floats())
def test_any_value_is_a_size_or_refused(value: object) -> None:
    try:
        assert ByteSize.parse(value) >= 0
    except ValueError:
        return


def test_a_secret_is_read_where_it_is_and_shown_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACME_SECRET", "s3cr3t")
    file = tmp_path / "secret"
    file.write_text("s3cr3t\n")
    for secret in (Secret("env", "ACME_SECRET"), Secret("file", str(file))):
        assert secret.reveal() == "s3cr3t"
        assert "s3cr3t" not in f"{secret!r} {secret} {secret.describe()}"
    file.write_text("rotated\n")
    assert Secret("file", str(file)).reveal() == "rotated"


def test_a_secret_that_is_not_there_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ACME_SECRET", raising=False)
    monkeypatch.setenv("EMPTY", "")
    (tmp_path / "empty").write_text("\n")
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    for where, place in (
        ("env", "ACME_SECRET"),
        ("env", "EMPTY"),
        ("file", str(tmp_path / "missing")),
        ("file", str(tmp_path / "empty")),
        ("file", str(tmp_path / "binary")),
        ("file", "a\0b"),
    ):
        with pytest.raises(ConfigError) as caught:
            Secret(where, place).reveal()  # type: ignore[arg-type]
        assert place in str(caught.value)
        assert caught.value.remedy


class Options(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    key: Secret
    other: Secret | None = None
    size: ByteSize = ByteSize(0)


@pytest.mark.parametrize(
    "given_secret",
    ["s3cr3t", 1, {}, {"env": ""}, {"env": 1}, {"env": "A", "file": "b"}, {"vault": "x"}, ["s3cr3t"]],
)
def test_a_secret_in_the_file_itself_is_refused_and_not_repeated(given_secret: object) -> None:
    with pytest.raises(ConfigError, match=r"\$\.storage\.options\.key") as caught:
        config.convert({"key": given_secret}, Options, "$.storage.options")
    assert "s3cr3t" not in str(caught.value)


def test_the_plain_form_can_be_read_again() -> None:
    options = config.convert({"key": {"env": "A"}, "size": "1MB"}, Options, "$")
    plain = config.to_builtins(options)
    assert plain == {"key": {"env": "A"}, "other": None, "size": 1_000_000}
    again = config.convert(plain, Options, "$")
    assert again.key.describe() == {"env": "A"}
    shown = config.to_builtins(load(None, {"RAYHIST__STORAGE__OPTIONS__KEY": '{ env = "A" }'}))
    assert msgspec.convert(shown, dict)["storage"]["options"] == {"key": {"env": "A"}}


def test_the_schema_describes_every_field_and_can_be_printed() -> None:
    schema = config.schema(Config)
    assert json.dumps(schema)
    for section in schema["$defs"].values():
        if "properties" in section and section["title"] != "Config":
            assert all("description" in field for field in section["properties"].values()), section["title"]
            assert section["additionalProperties"] is False
    assert schema["$defs"]["Cache"]["properties"]["max_bytes"]["default"] == 20 * 2**30
    assert schema["$defs"]["Server"]["properties"]["port"]["maximum"] == 65535


def test_the_schema_of_a_plugins_options_says_what_is_required() -> None:
    schema = config.schema(Options)["$defs"]["Options"]
    assert schema["required"] == ["key"]
    assert schema["properties"]["key"]["type"] == "object"
    assert schema["properties"]["size"]["default"] == 0


def test_a_struct_without_source_has_fields_and_a_schema() -> None:
    """A plugin may be installed as byte code alone."""
    made = msgspec.defstruct("Made", [("size", int, 3)], frozen=True)
    assert [field.name for field in describe.fields(made)] == ["size"]
    assert config.schema(made)["$defs"]["Made"]["properties"]["size"]["default"] == 3


def test_without_a_home_folder_the_remedy_is_to_name_folders(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", no_home)
    for folder in (Config().storage_url, Config().cache_folder):
        with pytest.raises(ConfigError) as caught:
            folder()
        assert "[storage] url" in (caught.value.remedy or "")


def test_a_cluster_that_cannot_be_is_a_mistake_in_its_section() -> None:
    with pytest.raises(ConfigError, match=r"\[cluster\].*Upper"):
        load(None, {"RAYHIST__CLUSTER__NAME": "Upper"}).cluster.cluster()
