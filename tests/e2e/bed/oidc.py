"""The issuer of service account tokens, and the file that a kubelet projects one into."""

from __future__ import annotations

import base64
import json
import secrets
from pathlib import Path
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa

STS_AUDIENCE = "sts.amazonaws.com"
POD_AUDIENCE = "pods.eks.amazonaws.com"
SUBJECT = "system:serviceaccount:zonevac-system:zonevac"
URL = "https://oidc.eks.us-east-1.amazonaws.com/id/BED0000000000000000000000000BED0"


class TokenError(ValueError):
    """Why a token is not taken, with AWS's code."""

    def __init__(self, code: str, sentence: str) -> None:
        super().__init__(sentence)
        self.code = code


class Issuer:
    """Signs with RS256; after rotate() only tokens of the new key are good."""

    def __init__(self) -> None:
        self.rotate()

    def rotate(self) -> None:
        self._key = rsa.generate_private_key(public_exponent=65537, key_size=2048)

    def token(self, now: float, audience: str = STS_AUDIENCE, subject: str = SUBJECT, seconds: float = 86400) -> str:
        claims = {
            "iss": URL,
            "sub": subject,
            "aud": [audience],
            "iat": int(now),
            "exp": now + seconds,
            "jti": secrets.token_hex(8),
        }
        head = _encode(json.dumps({"alg": "RS256", "typ": "JWT"}).encode())
        signed = f"{head}.{_encode(json.dumps(claims).encode())}"
        return f"{signed}.{_encode(self._key.sign(signed.encode(), padding.PKCS1v15(), hashes.SHA256()))}"

    def verify(self, token: str, audience: str, now: float) -> dict[str, Any]:
        """The claims of a good token, else TokenError."""
        try:
            head, body, signature = token.split(".")
            claims = json.loads(_decode(body))
            algorithm = json.loads(_decode(head))["alg"]
            self._key.public_key().verify(_decode(signature), f"{head}.{body}".encode(), padding.PKCS1v15(), hashes.SHA256())
        except InvalidSignature:
            raise TokenError("InvalidIdentityToken", "Couldn't retrieve verification key from your identity provider") from None
        except (ValueError, KeyError, TypeError):
            raise TokenError("InvalidIdentityToken", "The ID Token provided is not a valid JWT.") from None
        if algorithm != "RS256" or claims["iss"] != URL:
            raise TokenError("InvalidIdentityToken", f"No OpenIDConnect provider found in your account for {claims['iss']}")
        if audience not in claims["aud"]:
            raise TokenError("InvalidIdentityToken", "Incorrect token audience")
        if now >= claims["exp"]:
            raise TokenError("ExpiredTokenException", f"Token expired: current date/time {now:.0f} must be before {claims['exp']}")
        return claims


class ProjectedFile:
    """A file that changes like a kubelet's: its folder is a link to one of the present content, swapped in one step."""

    def __init__(self, folder: Path, name: str = "token") -> None:
        self.path = folder / name
        self._folder = folder
        self._count = 0
        folder.mkdir(parents=True)
        self.path.symlink_to(Path("..data") / name)

    def write(self, text: str) -> None:
        self._count += 1
        content = self._folder / f"..content-{self._count}"
        content.mkdir()
        (content / self.path.name).write_text(text)
        link = self._folder / "..data_tmp"
        link.symlink_to(content.name)
        link.replace(self._folder / "..data")

    def remove(self) -> None:
        """As when the volume is not there (yet)."""
        (self._folder / "..data").unlink()


def _encode(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _decode(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
