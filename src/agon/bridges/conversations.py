"""Recorded conversations, read for those who want the words; agon.models.recording keeps only what a replay needs."""

from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from agon import AgonError
from agon.agents.llm import NO_ANSWER
from agon.models import recording
from agon.models.base import message
from agon.turns import shown


class Line(recording.Line):
    """A line of a recording, with what a replay does not need."""

    after: str = ""
    role: str = ""
    asked: str = ""
    model: str = ""
    parameters: dict[str, Any] = msgspec.field(default_factory=dict)
    time: float = 0.0

    @property
    def sent(self) -> float:
        """When an exchange began, in seconds since 1970."""
        return self.time - self.seconds

    @property
    def answer(self) -> str:
        """Id of the message as which the conversation goes on with an exchange's answer."""
        return message("assistant", self.text or NO_ANSWER, self.asked).id


class Recorded:
    """A recording's messages by id, and its exchanges by match and seat, in the order in which they came."""

    def __init__(self, folder: Path | None) -> None:
        self.messages: dict[str, Line] = {}
        self._exchanges: dict[str, list[Line]] = defaultdict(list)
        if folder is None or not (folder / recording.FILE).exists():
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
                        f"{shown(folder / recording.FILE)} is damaged in line {number} ({error}): restore it (dvc checkout)"
                    ) from None
                if line.message:
                    self.messages[line.message] = line
                elif line.exchange:
                    self._exchanges[line.sample.rpartition("/")[0]].append(line)

    def exchanges(self, row: Mapping[str, Any]) -> list[Line]:
        """Those of a row's match and seat."""
        return self._exchanges.get(f"{row['match']}/{row['seat']}", [])

    def conversation(self, message: str) -> list[Line]:
        """Everything said up to a message. Raises AgonError when some of it is lost."""
        found: list[Line] = []
        while message:
            if message not in self.messages:
                raise AgonError(f"the recording lacks the message {message}: restore it (dvc checkout)")
            found.append(self.messages[message])
            message = found[-1].after
        return found[::-1]
