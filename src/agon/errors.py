"""What the user is told when something is wrong: one line, that says what to do."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

WORDS = {
    "array": "a list",
    "bool": "true or false",
    "float": "a number",
    "int": "a whole number",
    "null": "nothing",
    "object": "names with values",
    "str": "text",
}
"""What types of values are called in messages."""
BOUNDS = {">=": "at least", "<=": "at most", ">": "above", "<": "below"}


def visible(text: str) -> str:
    """Text that does nothing to a terminal or a log: what cannot be printed, but for line ends, is spelled out (\\x1b)."""
    return "".join(each if each.isprintable() or each == "\n" else ascii(each)[1:-1] for each in text)


def count(number: int, noun: str, nouns: str = "") -> str:
    """`1 round`, `2 rounds`, `3 matches`."""
    return f"{number:,} {noun if number == 1 else nouns or noun + ('es' if noun.endswith('ch') else 's')}"


def stopped(words: Sequence[str]) -> str:
    """What is said of a command that was interrupted."""
    return "stopped; the same command goes on where it was" if words[:1] in (["record"], ["play"]) else "stopped"


class AgonError(Exception):
    """Something the user can mend; its text is one line that says what is wrong and what to do."""

    def __init__(self, text: object) -> None:
        super().__init__(" ".join(str(text).splitlines()))  # names from files may hold line ends


def fault_of(error: Exception, kind: Any = None) -> str:
    """What msgspec finds wrong with a value, in words: where it is, what it is, and what it must be.

    With the `kind` of the whole value (a type), the words that may stand there are listed.
    """
    text, _, place = str(error).partition(" - at `")
    place = place.rstrip("`").removeprefix("$").removeprefix(".")
    if text.startswith(("Expected ", "Object ")):  # else it is what a class of ours says of itself
        text = re.sub("`([^`]+)`", lambda at: " or ".join(WORDS.get(each, each) for each in at[1].split(" | ")), text)
        text = re.sub(r" matching regex '\\+(\.\w+)\$'$", r" that ends in \1", text)
        text = text.replace(" matching regex ", " that fits the pattern ")
        text = re.sub(r"( of length)? ([<>]=?) (\S+)$", lambda at: f"{at[1] or ','} {BOUNDS[at[2]]} {at[3]}", text)
        text = re.sub(r"^Expected (.*), got (\d+)$", r"it must be \1, and has \2", text)
        text = re.sub("^Expected (.*), got (.*)$", r"it must be \1, and is \2", text)
        text = re.sub("^Expected ", "it must be ", text)
        text = re.sub(r"^Object missing required field (.*)$", r"\1 is missing", text)
        text = re.sub(r"^Object contains unknown field (.*)$", r"there is no setting \1", text)
    if kind is not None and text.startswith("Invalid enum value") and (values := list(_values(kind, place))):
        text = re.sub("^Invalid enum value (.*)$", r"it is \1, and must be " + " or ".join(map(str, values)), text)
    return f"{place}: {text}" if place else text


def _values(kind: Any, place: str) -> Iterator[object]:
    """The words that may stand at a place in values of a kind."""
    from msgspec.inspect import DictType, ListType, LiteralType, StructType, Type, UnionType, VarTupleType, type_info

    def inside(types: Iterable[Type]) -> Iterator[Type]:
        for each in types:
            yield from inside(each.types) if isinstance(each, UnionType) else [each]

    found = list(inside([type_info(kind)]))
    for name in re.findall(r"[^.\[\]]+(?=[.\[]|$)|\[", place):
        within = list[Type]()
        for each in found:
            if isinstance(each, StructType):
                within += [field.type for field in each.fields if name == field.encode_name]
            elif isinstance(each, ListType | VarTupleType):
                within.append(each.item_type)
            elif isinstance(each, DictType):
                within.append(each.value_type)
        found = list(inside(within))
    yield from (value for each in found if isinstance(each, LiteralType) for value in each.values)
