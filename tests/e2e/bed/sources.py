"""Each way to be told who one is: what it takes at AWS, in files, in variables, and how its credentials change."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

from bed.identities import Identities
from bed.local_server import LocalServer, Reply
from bed.metadata import Metadata
from bed.oidc import ProjectedFile
from bed.pod_identity import PodIdentityAgent, Vending
from bed.signature import Key

PROGRAM = Path(__file__).with_name("credential_program.py")
EXTERNAL_ID = "zonevac:prod/2026"
DROPPED = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")


class Source:
    """`variables` for the one who uses it. `server`: what is asked locally, if anything is."""

    server: LocalServer | None = None

    def __init__(self, identities: Identities, folder: Path) -> None:
        self.identities, self.folder = identities, folder
        self.variables: dict[str, str] = {}
        folder.mkdir(parents=True, exist_ok=True)

    def start(self) -> Source:
        if self.server is not None:
            self.server.start()
        return self

    def end(self) -> None:
        if self.server is not None:
            self.server.stop()

    def rotate(self) -> None:
        """What the outside does now and then: a new token in the file."""

    def environment(self, base: dict[str, str]) -> dict[str, str]:
        kept = {name: value for name, value in base.items() if name not in DROPPED}
        return kept | {"AWS_EC2_METADATA_DISABLED": "true"} | self.variables

    def write(self, name: str, text: str) -> str:
        """A file in its folder, changed at once; its path."""
        fresh = self.folder / f"{name}.new"
        fresh.write_text(text)
        fresh.replace(self.folder / name)
        return str(self.folder / name)


class ProfileKeys(Source):
    """A profile with a session's keys, which somebody (a login tool) writes anew before they end."""

    def __init__(self, identities: Identities, folder: Path) -> None:
        super().__init__(identities, folder)
        self.rotate()
        self.variables = {"AWS_PROFILE": "ops", "AWS_SHARED_CREDENTIALS_FILE": str(folder / "credentials")}

    def rotate(self) -> None:
        self.put(self.identities.issue_role("zonevac-ops", "login"))

    def put(self, key: Key) -> None:
        token = f"aws_session_token = {key.token}\n" if key.token else ""
        keys = f"aws_access_key_id = {key.access}\naws_secret_access_key = {key.secret}\n{token}"
        self.write("credentials", f"[default]\naws_access_key_id = NEVERUSED\naws_secret_access_key = never\n\n[ops]\n{keys}")


class ProfileChain(Source):
    """prod assumes a role with an external id by way of hub, which assumes one with the keys of base."""

    def __init__(self, identities: Identities, folder: Path) -> None:
        super().__init__(identities, folder)
        key = identities.new_user_key("ci")
        hub = identities.trust("hub", trusts=[key.arn])
        prod = identities.trust("team/zonevac", trusts=[hub.session_arn("")], external_id=EXTERNAL_ID)
        self.role = prod
        self.write("credentials", f"[base]\naws_access_key_id = {key.access}\naws_secret_access_key = {key.secret}\n")
        self.write(
            "config",
            f"[profile hub]\nrole_arn = {hub.arn}\nsource_profile = base\n\n"
            f"[profile prod]\nrole_arn = {prod.arn}\nsource_profile = hub\nexternal_id = {EXTERNAL_ID}\n"
            "role_session_name = zonevac-prod\n",
        )
        files = {"AWS_CONFIG_FILE": "config", "AWS_SHARED_CREDENTIALS_FILE": "credentials"}
        self.variables = {"AWS_PROFILE": "prod"} | {name: str(folder / file) for name, file in files.items()}


class Process(Source):
    """A profile whose credentials a program prints."""

    def __init__(self, identities: Identities, folder: Path) -> None:
        super().__init__(identities, folder)
        self.server = Vending(identities)
        self.variables = {"AWS_PROFILE": "vault", "AWS_CONFIG_FILE": str(folder / "config")}

    def start(self) -> Process:
        super().start()
        command = f'"{sys.executable}" -S -E "{PROGRAM}" {self.server.url} "a word with \'quotes\'"'
        self.write("config", f"[profile vault]\ncredential_process = {command}\n")
        return self


class WebIdentity(Source):
    """A role for the token of a service account. `token_seconds`: how long one is good."""

    def __init__(self, identities: Identities, folder: Path, token_seconds: float = 86400) -> None:
        super().__init__(identities, folder)
        self._token_seconds = token_seconds
        self.role = identities.trust("zonevac-irsa", subjects=["system:serviceaccount:zonevac-system:zonevac"])
        self.file = ProjectedFile(folder / "serviceaccount")
        self.rotate()
        self.variables = {"AWS_ROLE_ARN": self.role.arn, "AWS_WEB_IDENTITY_TOKEN_FILE": str(self.file.path)}

    def rotate(self) -> None:
        token = self.identities.issuer.token(self.identities.now(), seconds=self._token_seconds)
        self.file.write(self.identities.secret(token))


class Container(Source):
    """EKS Pod Identity."""

    server: PodIdentityAgent

    def __init__(self, identities: Identities, folder: Path, token_seconds: float = 86400) -> None:
        super().__init__(identities, folder)
        self._token_seconds = token_seconds
        self.server = PodIdentityAgent(identities)
        self.file = ProjectedFile(folder / "pods.eks.amazonaws.com", "eks-pod-identity-token")
        self.rotate()

    def start(self) -> Container:
        super().start()
        self.variables = {
            "AWS_CONTAINER_CREDENTIALS_FULL_URI": self.server.credentials_url,
            "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": str(self.file.path),
        }
        return self

    def rotate(self) -> None:
        self.file.write(self.server.new_token(self._token_seconds))


class Instance(Source):
    """The role of an EC2 instance."""

    server: Metadata

    def __init__(self, identities: Identities, folder: Path) -> None:
        super().__init__(identities, folder)
        self.server = Metadata(identities, folder)

    def start(self) -> Instance:
        super().start()
        self.variables = {"AWS_EC2_METADATA_DISABLED": "false", "AWS_EC2_METADATA_SERVICE_ENDPOINT": self.server.url}
        return self

    def end(self) -> None:
        self.server.end()


SOURCES: dict[str, Callable[[Identities, Path], Source]] = {
    "profile": ProfileKeys,
    "chain": ProfileChain,
    "process": Process,
    "web identity": WebIdentity,
    "container": Container,
    "instance": Instance,
}
UNAVAILABLE = Reply(503, b"try again later\n", "text/plain")


@contextlib.contextmanager
def rotating(source: Source, every_seconds: float) -> Iterator[None]:
    """Rotate again and again, until the block ends."""
    done = threading.Event()

    def run() -> None:
        while not done.wait(every_seconds):
            source.rotate()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
