"""Error messages. Each is one line and says what is wrong and what to do."""

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, get_args

WORDS = {
    "array": "a list",
    "bool": "true or false",
    "float": "a number",
    "int": "a whole number",
    "null": "nothing",
    "object": "names with values",
    "str": "text",
}
"""Type of a value -> its name in messages."""
BOUNDS = {">=": "at least", "<=": "at most", ">": "above", "<": "below"}


def visible(text: str) -> str:
    """Text that is safe for a terminal or a log. A character that cannot be printed is written as its code (\\x1b); line ends stay."""
    return "".join(
        character if character.isprintable() or character == "\n" else ascii(character)[1:-1] for character in text
    )


def count(number: int, noun: str, nouns: str = "") -> str:
    """`1 round`, `2 rounds`, `3 matches`."""
    return f"{number:,} {noun if number == 1 else nouns or noun + ('es' if noun.endswith('ch') else 's')}"


def interruption_message(words: Sequence[str]) -> str:
    """The message for a command that was interrupted."""
    continues = "".join(words[:1]).startswith(("play", "record"))  # record-until too
    return "stopped; the same command continues" if continues else "stopped"


def require_choice(what: str, value: object, choices: Any) -> None:
    """Raises ValueError for a value of the setting `what` that is none of `choices`, a Literal."""
    if value not in get_args(choices):
        raise ValueError(f"{what} is {value!r}; it must be {' or '.join(get_args(choices))}")


class AgonError(Exception):
    """An error that the user can mend. Its text is one line: what is wrong, and what to do."""

    def __init__(self, text: object) -> None:
        super().__init__(" ".join(str(text).splitlines()))  # names from files may hold line ends


def describe_fault(error: Exception, kind: Any = None, value: Any = None) -> str:
    """An error of msgspec in words: where the value is, what it is, and what it must be.

    `kind`: the type of the whole value. With it, the message names the words that are allowed there, or the nearest.
    `value`: the whole value. With it and `kind`, the message names the key of a faulty value in a mapping.
    """
    text, _, place = str(error).partition(" - at `")
    if key := _key_of_fault(str(error), kind, value):
        place = place.replace("[...]", f".{key}", 1)
    is_key = place.startswith("key` in `")
    place = place.removeprefix("key` in `").rstrip("`").removeprefix("$").removeprefix(".")
    if text.startswith(("Expected ", "Object ")):  # else it is what a class of ours says of itself
        text = re.sub(
            "`([^`]+)`", lambda match: " or ".join(WORDS.get(name, name) for name in match[1].split(" | ")), text
        )
        text = re.sub(r" matching regex '\\+(\.\w+)\$'$", r" that ends in \1", text)
        text = text.replace("number that's a multiple of 1.0", "whole number")
        text = re.sub(r" matching regex '(.*)'$", lambda match: _explain_pattern(match[1].replace(r"\\", "\\")), text)
        text = re.sub(
            r"( of length)? ([<>]=?) (\S+)$", lambda match: f"{match[1] or ','} {BOUNDS[match[2]]} {match[3]}", text
        )
        text = re.sub(r"^Expected (.*), got (\d+)$", r"it must be \1, and has \2", text)
        text = re.sub("^Expected (.*), got (.*)$", r"it must be \1, and is \2", text)
        text = re.sub("^Expected ", "it must be ", text)
        text = re.sub(r"^Object missing required field (.*)$", r"\1 is missing", text)
        text = re.sub(r"^Object contains unknown field (.*)$", r"there is no setting \1", text)
    if kind is not None and (
        unknown := re.fullmatch("there is no setting `?(.*?)`?|Invalid enum value '?(.*?)'?", text)
    ):
        text = _explain_unknown(unknown[1] or unknown[2] or "", text, _kinds(kind, place), is_key)
    place = place.replace("[...]", " (one of its values)").strip()
    return f"{place}: {text}" if place else text


def _key_of_fault(text: str, kind: Any, value: Any) -> str:
    """The key of the value to which msgspec's error `text` belongs, where it says [...] only. Empty: it is not known."""
    import msgspec

    outer, dots, _ = text.partition(" - at `")[2].partition("[...]")
    if not dots or outer.startswith("key` in `"):
        return ""
    names = re.findall(r"[^.$\[\]]+", outer)

    def reduced(part: Any, names: Sequence[str], key: Any) -> Any:
        """A copy of the value in which the mapping at this place has one key."""
        if not names:
            return {key: part[key]}
        if isinstance(part, Mapping):
            return {**part, names[0]: reduced(part[names[0]], names[1:], key)}
        place = int(names[0])
        return [*part[:place], reduced(part[place], names[1:], key), *part[place + 1 :]]

    mapping = value
    for name in names:
        mapping = mapping.get(name) if isinstance(mapping, Mapping) else mapping[int(name)] if mapping else None
    for key in mapping if isinstance(mapping, Mapping) else ():
        try:
            msgspec.convert(reduced(value, names, key), kind)
        except msgspec.ValidationError as error:
            if str(error) == text:
                return str(key)
    return ""


def _explain_pattern(pattern: str) -> str:
    """What a text must be that fits a regular expression, in words where they are known."""
    if letters := re.fullmatch(r"\^\[(?:A-Za-z0-9_|\\w)-\](?:\+|\{1,(\d+)\})\\Z", pattern):
        return " of letters, digits, _ and -" + f", {letters[1]} at most" * bool(letters[1])
    known = {
        r"\S": " that is not blank",
        r"^\w+\Z": " of letters, digits and _",
        r"^\w+:[^,]+,[^,]+\Z": " such as COLUMN:FIRST,SECOND",
        r"^(agent|model):[^,]+,[^,]+\Z": " such as agent:FIRST,SECOND or model:FIRST,SECOND",
    }
    return known.get(pattern, f" that fits the pattern {pattern!r}")


def _explain_unknown(name: str, text: str, kinds: Iterable[Any], is_key: bool) -> str:
    """The message for a word that is not allowed, with those that are. `text`: the message without them."""
    from msgspec.inspect import DictType, LiteralType, StructType

    if text.startswith("there is no setting"):
        words = [field.encode_name for kind in kinds if isinstance(kind, StructType) for field in kind.fields]
    else:
        kinds = [kind.key_type for kind in kinds if isinstance(kind, DictType)] if is_key else kinds
        words = [str(value) for kind in kinds if isinstance(kind, LiteralType) for value in kind.values]
        value = text.removeprefix("Invalid enum value ")
        if words:
            text = f"{'a name' if is_key else 'it'} is {value}, and must be {' or '.join(words)}"
    near = difflib.get_close_matches(name, words, 1)
    return f"{text}: did you mean {near[0]}?" if near else text


def _kinds(kind: Any, place: str) -> list[Any]:
    """The types that are allowed at a place in values of a kind."""
    from msgspec.inspect import DictType, ListType, StructType, Type, UnionType, VarTupleType, type_info

    def members(types: Iterable[Type]) -> Iterable[Type]:
        for type_ in types:
            yield from members(type_.types) if isinstance(type_, UnionType) else [type_]

    kinds = list(members([type_info(kind)]))
    for name in re.findall(r"[^.\[\]]+(?=[.\[]|$)|\[", place):
        inner = list[Type]()
        for type_ in kinds:
            if isinstance(type_, StructType):
                inner += [field.type for field in type_.fields if name == field.encode_name]
            elif isinstance(type_, ListType | VarTupleType):
                inner.append(type_.item_type)
            elif isinstance(type_, DictType):
                inner.append(type_.value_type)
        kinds = list(members(inner))
    return kinds
