"""The keys in links: signatures with the secret of the hall's folder.

Nobody can invent them, and they are not stored.
"""

import hmac
import os
import secrets
from hashlib import sha256
from pathlib import Path

from agon.errors import AgonError
from agon.paths import display_path


class Keys:
    """Signatures with the secret in `path`: 32 bytes that only the owner can read. A `new` hall creates this file.

    Raises AgonError if the secret is missing or cannot be used.
    """

    def __init__(self, path: Path, new: bool = False) -> None:
        try:
            if new and not path.exists():
                draft = path.with_name(f"secret.{secrets.token_hex(4)}")
                draft.touch(mode=0o600)
                with draft.open("wb") as file:
                    file.write(secrets.token_bytes(32))
                    file.flush()
                    os.fsync(file.fileno())
                draft.replace(path)
            self._secret = path.read_bytes()
        except FileNotFoundError:
            raise AgonError(
                f"{display_path(path)} is missing: links and hashed names are made with it. "
                "Put it back, or name a new folder"
            ) from None
        except OSError as error:
            raise AgonError(f"{display_path(path)} cannot be used: {error.strerror}") from None
        if len(self._secret) != 32:
            raise AgonError(
                f"{display_path(path)} must hold 32 bytes, not {len(self._secret)}: "
                "put back the one with which links were made"
            )

    def signature(self, what: str, letters: int) -> str:
        """The signature of `what`: the first `letters` hexadecimal digits of an HMAC-SHA256."""
        return hmac.new(self._secret, what.encode(), sha256).hexdigest()[:letters]

    def key_of(self, what: str, name: str, seat: int | None = None) -> str:
        """The key of a seat, host or participant, as `what` says. It is NAME.SIGNATURE, or NAME.SEAT.SIGNATURE."""
        message = name if seat is None else f"{name}.{seat}"
        return f"{message}.{self.signature(f'{what}/{message}', 32)}"

    def message_of(self, what: str, key: str) -> str | None:
        """The NAME or NAME.SEAT in a key; None if its signature is not valid."""
        message = key.rpartition(".")[0]
        return message if equal_texts(key, self.key_of(what, message)) else None

    def pseudonym(self, participant: str) -> str:
        """The name of a participant outside the store. Without the secret it cannot be traced to a person."""
        return self.signature(f"pseudonym/{participant}", 12)


def equal_texts(text: str, other: str) -> bool:
    """Whether two texts are equal. The time of the comparison does not depend on where they differ."""
    return hmac.compare_digest(text.encode(), other.encode())
