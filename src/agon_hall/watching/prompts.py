"""The prompts of a recording."""

from pathlib import Path

import msgspec

from agon.errors import AgonError
from agon.models import recording
from agon.paths import display_path


class Line(recording.Line):
    """A line of a recording, with the keys from which a prompt is put together."""

    after: str = ""
    role: str = ""
    asked: str = ""


class Prompts:
    """The messages of a recording, from which the prompt of every exchange is put together."""

    def __init__(self, folder: Path) -> None:
        self.messages: dict[str, Line] = {}
        self._asked: dict[str, str] = {}
        """Exchange -> the last message of its prompt."""
        if not (folder / recording.FILE).exists():
            return
        decode = msgspec.json.Decoder(Line).decode
        with (folder / recording.FILE).open("rb") as stream:
            for number, raw in enumerate(stream, 1):
                if not raw.endswith(b"\n"):  # torn by a crash
                    break
                try:
                    line = decode(raw)
                except msgspec.DecodeError as error:
                    raise AgonError(
                        f"{display_path(folder / recording.FILE)} is damaged in line {number} ({error}): restore it (dvc checkout)"
                    ) from None
                if line.message:
                    self.messages[line.message] = line
                elif line.exchange:
                    self._asked[line.exchange] = line.asked

    def prompt(self, exchange: str) -> list[Line]:
        """Every message before the answer of an exchange; empty for an unknown one. Raises AgonError when a message is lost."""
        return self.conversation(self._asked.get(exchange, ""))

    def conversation(self, message: str) -> list[Line]:
        """A message and those before it, the first one first. Raises AgonError when one is lost."""
        lines: list[Line] = []
        while message:
            if message not in self.messages:
                raise AgonError(f"the recording lacks the message {message}: restore it (dvc checkout)")
            lines.append(self.messages[message])
            message = lines[-1].after
        return lines[::-1]
