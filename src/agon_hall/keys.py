"""Keys in links, which nobody can invent: signatures by a secret of the hall's folder. They are stored nowhere."""

import hmac
import os
import secrets
from hashlib import sha256
from pathlib import Path

from agon.errors import AgonError
from agon.paths import display_path


class Keys:
    """What is signed by the secret in `path`, 32 bytes that only its owner can read, which a `new` hall makes. Raises AgonError."""

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
                f"{display_path(path)} is missing: links and hashed names are made with it. Put it back, or name a new folder"
            ) from None
        except OSError as error:
            raise AgonError(f"{display_path(path)} cannot be used: {error.strerror}") from None
        if len(self._secret) != 32:
            raise AgonError(
                f"{display_path(path)} must hold 32 bytes, not {len(self._secret)}: put back the one with which links were made"
            )

    def signature(self, what: str, letters: int) -> str:
        """So many hexadecimal letters, which only this secret makes of `what`."""
        return hmac.new(self._secret, what.encode(), sha256).hexdigest()[:letters]

    def of(self, what: str, name: str, seat: int | None = None) -> str:
        """The key of a seat (what: seat), of whoever made a table (host), or of a participant; the name stands before the last dot."""
        message = name if seat is None else f"{name}.{seat}"
        return f"{message}.{self.signature(f'{what}/{message}', 32)}"

    def opens(self, what: str, key: str) -> str | None:
        """What a key is for: NAME, or NAME.SEAT; None for a key that is none."""
        message = key.rpartition(".")[0]
        return message if same(key, self.of(what, message)) else None

    def pseudonym(self, participant: str) -> str:
        """What a participant is called outside the store: by it nobody is found who does not have the secret."""
        return self.signature(f"pseudonym/{participant}", 12)


def same(given: str, right: str) -> bool:
    """Whether two texts are the same, in a time that does not tell how much of them is."""
    return hmac.compare_digest(given.encode(), right.encode())
