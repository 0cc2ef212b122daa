"""One configuration file, and the environment laid over it, as frozen structs.

TOML is canonical; `.yaml` and `.json` are read by suffix (YAML needs PyYAML).  Unknown fields are errors that
give the field's path.  `RAYHIST__SERVER__PORT=9000` overrides `port` in `[server]` before validation.
"""

from __future__ import annotations

import copy
import json
import os
import re
import tomllib
from collections.abc import Mapping
from datetime import date, time
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, TypeVar

import msgspec
from msgspec import Meta

from rayhist.errors import BadIdentifier, ConfigError
from rayhist.ids import Cluster, ClusterKind
from rayhist.schema import schema_of

ENVIRONMENT = "RAYHIST__"
FILE_VARIABLE = "RAYHIST_CONFIG"

Port = Annotated[int, Meta(ge=0, le=65535)]
Seconds = Annotated[float, Meta(gt=0)]


class Secret:
    """A value that lives elsewhere: `{ env = "NAME" }` or `{ file = "/path" }`.  Its `repr` is masked."""

    __slots__ = ("_place", "_where")

    def __init__(self, where: Literal["env", "file"], place: str) -> None:
        self._where = where
        self._place = place

    def reveal(self) -> str:
        """Read the value now, so that a rotated file is seen.  Raises `ConfigError` if it is not there."""
        value = self._from_environment() if self._where == "env" else self._from_file()
        if not value:
            raise ConfigError(
                f"the secret in {self._where} {self._place} is empty", remedy="put the secret there"
            )
        return value

    def _from_environment(self) -> str:
        value = os.environ.get(self._place)
        if value is None:
            raise ConfigError(f"environment variable {self._place} is not set", remedy="set it to the secret")
        return value

    def _from_file(self) -> str:
        try:
            return Path(self._place).read_text(encoding="utf-8").strip()
        except (OSError, ValueError) as error:
            raise ConfigError(
                f"secret file {self._place} cannot be read: {error}", remedy="check the path and its mode"
            ) from error

    def describe(self) -> dict[str, str]:
        return {self._where: self._place}

    def __repr__(self) -> str:
        return f"Secret({self._where}={self._place!r})"


class ByteSize(int):
    """A number of bytes, written as an integer or as text with a unit: `"20GiB"`, `"512 MB"`."""

    _DECIMAL: ClassVar = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12}
    _BINARY: ClassVar = {"kib": 2**10, "mib": 2**20, "gib": 2**30, "tib": 2**40}
    _UNITS: ClassVar = _DECIMAL | _BINARY

    @classmethod
    def parse(cls, value: object) -> ByteSize:
        if isinstance(value, int) and not isinstance(value, bool):
            number = Fraction(value)
        else:
            match = re.fullmatch(r"\s*([0-9]{1,30}(?:\.[0-9]{1,30})?)\s*([A-Za-z]*)\s*", str(value))
            if not match or match[2].lower() not in cls._UNITS:
                raise ValueError(f"not a number of bytes: {value!r} (write 512MiB, 20GiB, …)")
            number = Fraction(match[1]) * cls._UNITS[match[2].lower()]
        if number < 0:
            raise ValueError(f"a number of bytes cannot be negative: {value!r}")
        return cls(number)


class Section(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Base of the file's sections."""


class Storage(Section, frozen=True, kw_only=True):
    """Where the archive is."""

    url: str = ""
    """The store's URL; its scheme picks the plugin.  Empty: a folder of this user's, `file://…/rayhist`."""
    options: dict[str, Any] = {}
    """Options of that plugin."""


class Auth(Section, frozen=True, kw_only=True):
    """Who may read."""

    kind: str = "none"
    """Name of an auth plugin."""
    options: dict[str, Any] = {}
    """Options of that plugin."""


class ClusterSection(Section, frozen=True, kw_only=True):
    """Which cluster the collector stands beside."""

    kind: ClusterKind = ClusterKind.RAYCLUSTER
    """`raycluster`, `rayjob` or `rayservice`; a cluster of no Kubernetes is a `raycluster`."""
    namespace: str = "default"
    """Kubernetes namespace, or one of your choice."""
    name: str = "ray"
    """The cluster's name."""
    owner: str = ""
    """Name of the RayJob or RayService that owns it."""

    def cluster(self) -> Cluster:
        try:
            return Cluster(self.kind, self.namespace, self.name, self.owner)
        except BadIdentifier as error:
            raise ConfigError(f"[cluster]: {error}", remedy=error.remedy) from error


class Collector(Section, frozen=True, kw_only=True):
    """What `rayhist collect` does."""

    role: Literal["auto", "head", "worker"] = "auto"
    """Which node it stands beside; `auto` looks for the head's processes in the session's logs."""
    node_id: str = ""
    """The node's id in hex; empty: learnt from the events and the session's own files."""
    node_ip: str = ""
    """This node's address as Ray knows it; empty: the one that packets to the head carry."""
    head_address: str = ""
    """URL of the head's dashboard, asked for this node's id if nothing else tells it; empty: as Ray noted."""
    temp_dir: str = "/tmp/ray"  # noqa: S108 - Ray's own default
    """Ray's `--temp-dir`."""
    spool: str = ""
    """Folder for what is not yet in the archive; empty: `rayhist-spool` below the temp dir."""
    sources: tuple[str, ...] = ("ray-events", "log-files", "dashboard")
    """Source plugins to run."""
    sinks: tuple[str, ...] = ("archive",)
    """Sink plugins that every sealed file goes to."""
    source_options: dict[str, dict[str, Any]] = {}
    """Options by source name."""
    sink_options: dict[str, dict[str, Any]] = {}
    """Options by sink name."""
    event_interval_s: Seconds = 30.0
    """Seconds between two uploads of events."""
    heartbeat_interval_s: Seconds = 30.0
    """Seconds between two updates of the session's marker and the node's manifest."""
    shutdown_budget_s: Seconds = 25.0
    """Seconds that the last sweep and the last uploads may take."""
    labels: dict[str, str] = {}
    """Free labels, kept in the session's marker."""
    fsync: Literal["always", "never"] = "always"
    """Whether an acknowledged event has reached the disk, or the operating system only."""


class Redaction(Section, frozen=True, kw_only=True):
    """Which secrets of runtime environments are left out when they are recorded.

    The values of variables (`env_vars`) go whose name or value looks like a secret; of the rest of a runtime
    environment, what looks like one, such as the password in a package index's address.
    """

    enabled: bool = True
    """Whether anything is left out."""
    all_variables: bool = False
    """Leave out the value of every variable, whatever it is called."""
    names: tuple[str, ...] = ()
    """Further regular expressions: a variable whose name has a match is a secret (case does not matter)."""
    values: tuple[str, ...] = ()
    """Further regular expressions: a value that has a match is a secret."""
    keep: tuple[str, ...] = ()
    """Regular expressions for the whole names of variables that are no secrets."""


class Server(Section, frozen=True, kw_only=True):
    """What `rayhist serve` does."""

    host: str = "127.0.0.1"
    """Address to listen on; beyond loopback only if you say so."""
    port: Port = 8090
    """Port; 0 takes a free one."""
    public_url: str = ""
    """The server's address as browsers see it, if a proxy stands before it."""
    refresh_interval_s: Seconds = 15.0
    """Seconds for which the list of sessions is believed."""
    open_sessions: Annotated[int, Meta(ge=1)] = 16
    """How many replayed sessions are held open at once."""
    replay_workers: Annotated[int, Meta(ge=1)] = 2
    """How many sessions are replayed at once."""
    lost_after_s: Seconds = 120.0
    """A running session that was not heard of for so many seconds counts as lost."""


class Cache(Section, frozen=True, kw_only=True):
    """The server's disk cache; everything in it can be deleted at any time."""

    path: str = ""
    """Folder; empty: this user's cache folder."""
    max_bytes: ByteSize = ByteSize(20 * 2**30)
    """Upper bound of all files."""
    max_sessions: Annotated[int, Meta(ge=1)] = 200
    """Upper bound of sessions."""


class Log(Section, frozen=True, kw_only=True):
    """How the program itself logs, to standard error."""

    level: Literal["debug", "info", "warning", "error"] = "info"
    """Least severity to print."""
    format: Literal["auto", "console", "json"] = "auto"
    """`auto`: console on a terminal, JSON otherwise."""


class Config(Section, frozen=True, kw_only=True):
    """The whole file."""

    storage: Storage = Storage()
    auth: Auth = Auth()
    cluster: ClusterSection = ClusterSection()
    collector: Collector = Collector()
    redaction: Redaction = Redaction()
    server: Server = Server()
    cache: Cache = Cache()
    log: Log = Log()

    def storage_url(self) -> str:
        return self.storage.url or (_user_folder("XDG_DATA_HOME", ".local/share") / "archive").as_uri()

    def cache_folder(self) -> Path:
        return Path(self.cache.path) if self.cache.path else _user_folder("XDG_CACHE_HOME", ".cache")


def _user_folder(variable: str, default: str) -> Path:
    base = os.environ.get(variable)
    try:
        return (Path(base) if base else Path.home() / default) / "rayhist"
    except RuntimeError as error:  # a container's user without an entry in the password file
        raise ConfigError(
            f"no home folder: {error}", remedy=f"set [storage] url and [cache] path, or ${variable}"
        ) from error


_T = TypeVar("_T")


def load(
    path: str | None = None,
    environment: Mapping[str, str] | None = None,
    base: Mapping[str, Any] | None = None,
) -> Config:
    """Read the file (`path`, else `$RAYHIST_CONFIG`, else none) with the environment laid over it.

    `base` is a document that the file is laid over: of `[storage]` and `[cluster]` the file's counts as a
    whole, of the others field by field.
    Raises `ConfigError` that names the file and the field.
    """
    environment = os.environ if environment is None else environment
    path = path or environment.get(FILE_VARIABLE) or None
    tree = _laid_over(base or {}, _read(Path(path)) if path else {}, whole=("storage", "cluster"))
    _overlay(tree, environment)
    try:
        return convert(tree, Config, "$")
    except ConfigError as error:
        laid_over = [f"${name}" for name in sorted(environment) if name.startswith(ENVIRONMENT)]
        where = " with ".join(filter(None, [path, ", ".join(laid_over)]))
        raise ConfigError(f"{where}: {error}", remedy=error.remedy or "see: rayhist config schema") from error


def convert(value: object, to: type[_T], path: str) -> _T:
    """Strictly convert plain data to a struct.  Raises `ConfigError` with the field's path below `path`."""
    try:
        return msgspec.convert(value, to, dec_hook=_decode, strict=True)
    except msgspec.ValidationError as error:
        message = str(error)
        if "`$" not in message:  # a mistake at the top comes without its place
            message += " - at `$`"
        raise ConfigError(message.replace("`$", f"`{path}"), remedy=None) from error


def to_builtins(value: object) -> Any:
    """The plain form of a configuration, with secrets as the places they come from."""
    return msgspec.to_builtins(value, enc_hook=_encode)


def schema(struct: type[msgspec.Struct]) -> dict[str, Any]:
    """The JSON Schema of a struct of this module or of a plugin's options."""
    return schema_of(struct, types=_schema, plain=to_builtins)


def _decode(kind: type, value: object) -> object:
    if kind is ByteSize:
        return ByteSize.parse(value)
    if kind is Secret:
        if isinstance(value, dict) and len(value) == 1:
            [(where, place)] = value.items()
            if where in {"env", "file"} and isinstance(place, str) and place:
                return Secret(where, place)
        raise ValueError('a secret is { env = "NAME" } or { file = "/path" }, never the value itself')
    raise NotImplementedError(kind)


def _encode(value: object) -> object:
    if isinstance(value, Secret):
        return value.describe()
    if isinstance(value, ByteSize):  # msgspec takes exactly `int` as a number
        return int(value)
    raise NotImplementedError(type(value))


def _schema(kind: type) -> dict[str, Any]:
    if kind is ByteSize:
        return {"type": ["integer", "string"], "description": "bytes, or a text such as 20GiB"}
    if kind is Secret:
        places = {"env": {"type": "string"}, "file": {"type": "string"}}
        return {"type": "object", "properties": places, "maxProperties": 1, "minProperties": 1}
    raise NotImplementedError(kind)


def _read(path: Path) -> dict[str, Any]:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"{path}: cannot be read: {error}", remedy="check --config and $RAYHIST_CONFIG"
        ) from error
    try:
        tree = _parse(text, path.suffix.lower())
    except (ValueError, RecursionError) as error:  # TOMLDecodeError and JSONDecodeError are ValueErrors
        raise ConfigError(f"{path}: {error}") from error
    if not isinstance(tree, dict):
        raise ConfigError(f"{path}: the file must be a table of sections")
    return tree


def _parse(text: str, suffix: str) -> object:
    if suffix == ".json":
        return json.loads(text)
    if suffix not in {".yaml", ".yml"}:
        return tomllib.loads(text)
    try:
        import yaml  # noqa: PLC0415 - optional: only for those who keep their configuration in YAML
    except ImportError as error:
        raise ConfigError(
            "reading YAML needs PyYAML", remedy="pip install 'rayhist[yaml]', or write TOML"
        ) from error
    try:
        return yaml.safe_load(text) or {}
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from error


def _laid_over(
    base: Mapping[str, Any], over: Mapping[str, Any], whole: tuple[str, ...] = ()
) -> dict[str, Any]:
    both = {
        key: _laid_over(base[key], value)
        for key, value in over.items()
        if key not in whole and isinstance(value, dict) and isinstance(base.get(key), dict)
    }
    return copy.deepcopy({**base, **over, **both})


def _overlay(tree: dict[str, Any], environment: Mapping[str, str]) -> None:
    for variable, text in sorted(environment.items()):
        if not variable.startswith(ENVIRONMENT):
            continue
        *sections, field = variable[len(ENVIRONMENT) :].lower().split("__")
        table = tree
        for section in sections:
            table = table.setdefault(section, {})
            if not isinstance(table, dict):
                raise ConfigError(f"${variable}: {section!r} is not a section")
        table[field] = _value(text)


def _value(text: str) -> Any:
    """A TOML value, and failing that the text itself; no option is a date, so a date is a text."""
    try:
        value = tomllib.loads(f"value = {text}")["value"] if "\n" not in text else text
    except (tomllib.TOMLDecodeError, RecursionError):
        return text
    return text if isinstance(value, date | time) else value
