"""The settings of conf/agon.yaml and conf/config.yaml."""

from typing import Annotated, Any, Literal

import msgspec


class Limit(msgspec.Struct, forbid_unknown_fields=True):
    """The budget of one `record`; null is no limit."""

    usd: Annotated[float, msgspec.Meta(ge=0)] | None
    tokens: Annotated[float, msgspec.Meta(ge=0)] | None
    calls: Annotated[float, msgspec.Meta(ge=0)] | None


class Settings(msgspec.Struct, forbid_unknown_fields=True):
    """The settings of a command as composed."""

    agon: Literal[True]
    fresh: bool
    partial: bool
    force: bool
    large: bool
    batch: bool
    concurrency: Annotated[int, msgspec.Meta(ge=1)] | None
    budget: Limit
    readable: Annotated[float, msgspec.Meta(ge=0, le=1)] | None
    source: str
    path: str | None
    recorded: dict[str, list[str]]
    out: Annotated[str, msgspec.Meta(pattern=r"\.parquet$")] | None
    families: list[str]
    packages: list[str]
    experiment: dict[str, Any]
