"""What conf/agon.yaml and conf/config.yaml may say."""

from typing import Annotated, Any, Literal

import msgspec


class Limit(msgspec.Struct, forbid_unknown_fields=True):
    """What one `record` may spend; null is no limit."""

    usd: Annotated[float, msgspec.Meta(ge=0)] | None
    tokens: Annotated[float, msgspec.Meta(ge=0)] | None
    calls: Annotated[float, msgspec.Meta(ge=0)] | None


class Executor(msgspec.Struct, forbid_unknown_fields=True):
    """Where matches are played."""

    name: Literal["local", "dask"]
    address: str | None
    insecure: bool
    workers: Annotated[int, msgspec.Meta(ge=1)]


class Until(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The questions with which `record` ends: which conditions differ in a metric, and in which direction."""

    range: tuple[float, float]
    """That the metric can take: all values lie in it."""
    metric: str = "points"
    by: Annotated[str, msgspec.Meta(pattern=r"^(agent|model)(:.+)?\Z")] = "agent"
    """agent or model, or agent:ONE,OTHER."""
    error: Annotated[float, msgspec.Meta(gt=0, lt=0.5)] = 0.05
    """Chance that any question is ever decided wrongly."""

    def __post_init__(self) -> None:
        if not self.range[0] < self.range[1]:
            raise ValueError("range: the lower end comes first")


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
    power: bool
    metric: str
    detect: Annotated[float, msgspec.Meta(gt=0)] | None
    variance: list[str]
    sd: Annotated[float, msgspec.Meta(gt=0)] | None
    until: Until | None
    readable: Annotated[float, msgspec.Meta(ge=0, le=1)] | None
    executor: Executor
    source: str
    path: str | None
    recorded: dict[str, list[str]]
    out: Annotated[str, msgspec.Meta(pattern=r"\.parquet$")] | None
    families: list[str]
    packages: list[str]
    experiment: dict[str, Any]
