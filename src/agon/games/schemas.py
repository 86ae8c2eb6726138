"""Actions as JSON in a form that a provider can enforce: schemas, their descriptions in words, and the reader of such answers.

Schemas use only what OpenAI's strict structured outputs, Anthropic's and llama.cpp's grammars have in common: objects with all
keys required, `enum`, `anyOf`, limits of whole numbers, and the length and `pattern` of texts.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from agon.games.reading import Reading, strip_thinking
from agon.games.strict import one_object

Schema = dict[str, Any]
"""A JSON schema."""

THOUGHT, ACTION = "thought", "action"
"""Keys of an answer."""
TOOL = "tool"
"""Key of the tool's name, in an action that calls a tool."""
AMOUNT: Schema = {
    "type": "string",
    "pattern": r"^[0-9]{1,9}(\.[0-9]{1,6})?$",
    "description": 'a number, written as a text such as "12.5"',
}
"""A number of at most six decimals. It is a text, as llama.cpp's grammars cannot limit numbers with decimals."""
LONGEST = 1000
"""Most characters of an action that is a text of no known form."""
_KEY = re.compile(r"[^A-Za-z0-9_.-]")


class JsonSpace(Protocol):
    """An action space, as far as answers in JSON go (agon.games.spaces.Space)."""

    def __contains__(self, action: object) -> bool: ...

    def schema(self) -> Schema:
        """The JSON schema of an action."""

    def decode(self, value: Any) -> Any | None:
        """The action of a value of the schema."""

    def as_tools(self) -> Mapping[str, Schema]:
        """Tools one of which an action calls: name -> arguments; empty where actions are no calls of tools."""


def object_of(parts: Mapping[str, Schema]) -> Schema:
    """The schema of an object with exactly these keys."""
    return {"type": "object", "properties": dict(parts), "required": list(parts), "additionalProperties": False}


def keys(names: Iterable[str]) -> list[str]:
    """Distinct keys for names that every provider accepts: at most 64 ASCII letters, digits and `_.-`."""
    result: list[str] = []
    for name in names:
        key = base = _KEY.sub("_", name)[:60] or "_"
        number = 1
        while key in result:
            number += 1
            key = f"{base}{number}"
        result.append(key)
    return result


def answer_schema(action: Schema, thought: int) -> Schema:
    """The schema of an answer: reasoning of at most `thought` characters (0: none), then the action."""
    before: dict[str, Schema] = {THOUGHT: {"type": "string", "maxLength": thought}} if thought else {}
    return object_of({**before, ACTION: action})


def limit_texts(schema: Schema, most: int) -> Schema:
    """The schema with texts of at most `most` characters; labels and numbers stay as they are."""
    if "maxLength" in schema:
        return schema | {"maxLength": min(most, schema["maxLength"])}
    if "anyOf" in schema:
        return schema | {"anyOf": [limit_texts(option, most) for option in schema["anyOf"]]}
    parts = {name: limit_texts(part, most) for name, part in schema.get("properties", {}).items()}
    return schema | {"properties": parts} if parts else schema


def write_answer(value: Any, thought: str | None = None) -> str:
    """An answer as a model writes it, in one line."""
    before = {} if thought is None else {THOUGHT: thought}
    return json.dumps({**before, ACTION: value}, ensure_ascii=False)


def write_call(said: str, tool: str, arguments: Any) -> str:
    """A tool call as an answer that `read_call` reads. `said`: the model's text beside the call.

    `arguments` is a JSON object or its text. Raises ValueError for anything else, and RecursionError for too deep nesting.
    """
    values = json.loads(arguments, object_pairs_hook=unique_keys) if isinstance(arguments, str) else arguments
    if not isinstance(values, dict):
        raise ValueError("no arguments")
    reasons = values.get(THOUGHT, "")
    if isinstance(reasons, str):
        values = {name: value for name, value in values.items() if name != THOUGHT}
        said = "\n".join(filter(None, (said.strip(), reasons)))
    return write_answer({**values, TOOL: tool}, said or None)


def read_call(text: str, legal: JsonSpace, strict: bool = True) -> Reading:
    """The action in an answer that calls a tool (`write_call`), with its reasoning as the note. `strict`: see `read_answer`."""
    tools = legal.as_tools()
    if strict and not _is_json(text):
        text, _ = one_object(text)
    if not text.lstrip().startswith("{"):
        return Reading(
            None, f"no tool is called; there are {', '.join(tools)}" if text.strip() else "the answer is empty"
        )
    return read_answer(text, legal, {"anyOf": [call_schema(name, schema) for name, schema in tools.items()]}, strict)


def call_schema(name: str, arguments: Schema) -> Schema:
    """The schema of a tool call: the arguments, and the tool's name among them."""
    return object_of({**arguments["properties"], TOOL: {"type": "string", "enum": [name]}})


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def read_answer(text: str, legal: JsonSpace, schema: Schema | None = None, strict: bool = True) -> Reading:
    """The action in an answer that is one JSON object, with its reasoning as the note; None, never a guess, for all else.

    `schema` is the action's; None: that of the space. `strict`: the object may stand in one code fence, and thoughts in tags of any
    kind stand before it (agon.games.strict). If not, thoughts are only in <think> tags, as recordings before the strict reading have it.
    """
    fences = ""
    if strict and not _is_json(text):
        text, fences = one_object(text)
    elif not strict and "think>" in text:
        text = strip_thinking(text)
    if not text.strip():
        return Reading(None, "the answer is empty")
    try:
        answer = json.loads(text, object_pairs_hook=unique_keys)
        text = json.dumps(answer, ensure_ascii=False)
        answer = json.loads(text.encode("utf-8", "replace"))  # half a surrogate pair becomes "?"
    except (ValueError, RecursionError):
        return Reading(None, f"the answer is not one whole JSON object{fences and f': {fences}'}")
    if not isinstance(answer, dict) or ACTION not in answer:
        return Reading(None, f'there is no "{ACTION}" in the answer')
    if fault := find_mismatch(answer[ACTION], schema or legal.schema()):
        return Reading(None, f'"{ACTION}": {fault}')
    action = legal.decode(answer[ACTION])
    if action is None or action not in legal:
        return Reading(None, f'"{ACTION}" is not a legal one')
    thought = answer.get(THOUGHT)
    return Reading(action, "", thought.strip() if isinstance(thought, str) else "")


def unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The object of these names and values. Raises ValueError for a name that is there twice."""
    result = dict(pairs)
    if len(result) < len(pairs):
        raise ValueError("it has a key twice")
    return result


def find_mismatch(value: Any, schema: Schema) -> str:
    """Why a JSON value does not match a schema of this module, in a few words; empty where it does."""
    if "anyOf" in schema:
        faults = [find_mismatch(value, option) for option in schema["anyOf"]]
        return "" if "" in faults else f"it is none of the {len(faults)} forms that are offered"
    if "enum" in schema:
        is_option = any(value == option and type(value) is type(option) for option in schema["enum"])
        return "" if is_option else f"it must be {describe_schema(schema)}"
    if schema["type"] == "object":
        parts = schema["properties"]
        if not isinstance(value, dict) or value.keys() != parts.keys():
            return f"it must be an object with {', '.join(parts)}"
        faults = [f"{name}: {fault}" for name, part in parts.items() if (fault := find_mismatch(value[name], part))]
        return faults[0] if faults else ""
    kinds = {"string": str, "integer": int, "boolean": bool}
    return (
        ""
        if type(value) is kinds[schema["type"]] and _within(value, schema)
        else f"it must be {describe_schema(schema)}"
    )


def _within(value: Any, schema: Schema) -> bool:
    if isinstance(value, str):
        fits = re.search(schema.get("pattern", ""), value)
        return bool(fits) and schema.get("minLength", 0) <= len(value) <= schema.get("maxLength", len(value))
    return bool(schema.get("minimum", value) <= value <= schema.get("maximum", value))


def describe_schema(schema: Schema, depth: int = 0) -> str:
    """A schema in words; parts of objects have lines of their own."""
    line = f"\n{'  ' * depth}- "
    if "description" in schema:
        return str(schema["description"])
    if "enum" in schema:
        return _options(schema["enum"])
    if "anyOf" in schema:
        return "one of these" + "".join(line + describe_schema(option, depth + 1) for option in schema["anyOf"])
    if schema["type"] == "object":
        return "an object with" + "".join(
            f"{line}{json.dumps(name)}: {describe_schema(part, depth + 1)}"
            for name, part in schema["properties"].items()
        )
    if schema["type"] == "integer":
        return f"a whole number from {schema['minimum']} to {schema['maximum']}"
    if schema["type"] == "boolean":
        return "true or false"
    return "a text" + (f" of at most {schema['maxLength']} characters" if "maxLength" in schema else "")


def _options(values: Sequence[Any]) -> str:
    if len(values) > 3 and all(type(value) is int for value in values):
        step = values[1] - values[0]
        if list(values) == list(range(values[0], values[-1] + 1, step)):
            return f"a whole number from {values[0]} to {values[-1]}" + (f" in steps of {step}" if step > 1 else "")
    texts = [json.dumps(value, ensure_ascii=False) for value in values]
    return texts[0] if len(texts) == 1 else f"one of {', '.join(texts)}"
