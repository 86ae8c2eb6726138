"""Documents: files of YAML as data, of which nothing is run, replaced, or larger than it looks."""

import re
from math import isfinite
from pathlib import Path
from typing import Any

import yaml  # type: ignore[import-untyped]

from agon import AgonError, shown, text_of

NODES, DEPTH = 50_000, 50
"""So many values a file may hold, aliases counted as what they stand for, and so deep they may lie."""


class Loader(yaml.CSafeLoader):  # type: ignore[misc]
    """Reads files as Hydra does, in C: 1e3 is a number, a date is a text, and a name stands once."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """Names and values. Raises ConstructorError for a name that is there twice."""
        known = set[str]()
        for key in (key for key, _ in node.value if isinstance(key, yaml.ScalarNode)):
            if key.value in known:
                why = f"found duplicate key {key.value}"
                raise yaml.constructor.ConstructorError(
                    "while constructing a mapping", node.start_mark, why, key.start_mark
                )
            known.add(key.value)
        found: dict[Any, Any] = super().construct_mapping(node, deep=deep)
        return found


Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in own if not tag.endswith((":timestamp", ":float"))]
    for first, own in Loader.yaml_implicit_resolvers.items()
}
Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(
        r"""^(?:[-+]?[0-9]+(?:_[0-9]+)*\.[0-9_]*(?:[eE][-+]?[0-9]+)?
        |[-+]?[0-9]+(?:_[0-9]+)*(?:[eE][-+]?[0-9]+)
        |[-+]?\.[0-9]+(?:_[0-9]+)*(?:[eE][-+]?[0-9]+)?
        |[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$""",
        re.VERBOSE,
    ),
    list("-+0123456789."),
)


def document(path: Path) -> dict[str, Any]:
    """A file of YAML: names and values. Raises AgonError for what is none, too large, or not meant as data."""
    text = text_of(path)
    try:
        _weigh(text, shown(path))
        found: Any = yaml.load(text, Loader)  # a safe loader
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise AgonError(f"{shown(path)}: {reason(error)}") from error
    except (LookupError, TypeError, AttributeError) as error:
        raise AgonError(f"{shown(path)}: a value is not what its tag (!!) says: {reason(error)}") from error
    found = {} if found is None else found  # nothing but comments
    if not isinstance(found, dict):
        raise AgonError(f"{shown(path)}: it holds a {type(found).__name__}, not settings: write name: value")
    require_plain(found, shown(path))
    return found


def _weigh(text: str, place: str) -> None:
    """Raises AgonError for YAML that is too large or too deep, with aliases as what they stand for, before it is built."""
    sizes, open_ = dict[str | None, int](), [(None, [0])]
    for event in yaml.parse(text, yaml.CSafeLoader):
        size = 1
        if isinstance(event, yaml.ScalarEvent) and "${" in event.value:
            raise AgonError(f"{place}: {event.value[:80]!r}: nothing is put in the place of ${{...}}: write the value")
        if isinstance(event, yaml.ScalarEvent) and len(open_) == 1 and event.value:
            raise AgonError(f"{place}: it holds {event.value[:80]!r}, not settings: write name: value")
        if isinstance(event, yaml.CollectionStartEvent):
            open_.append((event.anchor, [1]))
        elif isinstance(event, yaml.CollectionEndEvent):
            anchor, counted = open_.pop()
            size = sizes[anchor] = counted[0]
        elif isinstance(event, yaml.AliasEvent):
            size = sizes.get(event.anchor, 1)
        open_[-1][1][0] += size
        if len(open_) > DEPTH or open_[-1][1][0] > NODES:
            raise AgonError(f"{place}: it holds more than {NODES:,} values, or more than {DEPTH} in one another")


def require_plain(value: Any, place: str) -> None:
    """Raises AgonError unless all is data: names that are texts, numbers that are finite, and nothing to be replaced."""
    left, count = [value], 0
    while left:
        each = left.pop()
        count += 1
        if isinstance(each, dict):
            if strange := [key for key in each if not isinstance(key, str)]:
                comma = (
                    "; a number has a point, not a comma"
                    if isinstance(strange[0], int) and each[strange[0]] is None
                    else ""
                )
                raise AgonError(f"{place}: the name {strange[0]!r} is no text: put it in quotes{comma}")
            left += each.values()
        elif isinstance(each, list):
            left += each
        elif isinstance(each, float) and not isfinite(each):
            raise AgonError(f"{place}: {each} is no number to count with: null means none")
        elif isinstance(each, str) and "${" in each:
            raise AgonError(f"{place}: {each[:80]!r}: nothing is put in the place of ${{...}}: write the value")
        elif not isinstance(each, str | int | float | None):
            raise AgonError(f"{place}: {str(each)[:80]} is a {type(each).__name__}: write it as text, in quotes")
        if count > NODES:
            raise AgonError(f"{place}: it holds more than {NODES:,} values")


def reason(error: BaseException) -> str:
    """What was wrong at first, in one line, which may be cut off."""
    while error.__cause__ is not None:
        error = error.__cause__
    return " ".join(str(error)[:300].split())
