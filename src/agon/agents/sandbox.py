"""Where prompts are made: templates of anybody, which see what they are given, change nothing, and come to an end."""

import re
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from itertools import islice
from typing import Any

from jinja2 import nodes
from jinja2.compiler import CodeGenerator
from jinja2.exceptions import SecurityError
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment

LONGEST = 1_000_000
"""Characters that one text may have, values that one list may have, and the largest number that a call may be given."""
STEPS = 200_000
"""Calls and rounds of loops that one text may take; a round with much text in it counts as several."""
UNBOUNDED = ("batch", "center", "format", "indent", "pprint", "replace", "slice", "string", "tojson", "wordwrap")
"""Jinja's filters that make little as long as one likes."""
WIDE = re.compile(r"\d{6}")
"""In a format: so many characters wide."""


class _Bounded(CodeGenerator):
    """Jinja's compiler, with a filter about everything that can make a template long or endless."""

    def visit_Template(self, node: nodes.Template, frame: Any = None) -> None:  # noqa: N802
        for loop in list(node.find_all(nodes.For)):
            text = sum(len(each.data) for each in loop.find_all(nodes.TemplateData))
            loop.iter = _filtered(loop.iter, "counted", nodes.Const(1 + text // 1000))
        for joined in list(node.find_all(nodes.Concat)):
            joined.nodes = [_filtered(nodes.List(joined.nodes), "join")]
        for block in list(node.find_all(nodes.AssignBlock)):
            block.filter = _filtered(block.filter, "short")
        super().visit_Template(node, frame)


class Sandbox(ImmutableSandboxedEnvironment):
    """Templates in it reach no module, file or variable of the process, and are stopped at LONGEST and STEPS."""

    code_generator_class = _Bounded
    intercepted_binops = frozenset(("+", "*", "**", "%"))

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings, finalize=self._written)
        self.begin()
        self.filters |= {"counted": self._counted, "join": joined, "short": _short}
        self.filters |= {name: _sized(self.filters[name]) for name in UNBOUNDED}

    def begin(self) -> None:
        """From here on there are STEPS again."""
        self.left, self.room = STEPS, 10 * LONGEST

    def call(self, context: Context, made: Any, *values: Any, **named: Any) -> Any:
        """What a call gives. Raises SecurityError."""
        self._spend(1)
        text = getattr(made, "__self__", None)
        if isinstance(text, str):
            if made.__name__ == "join":
                return joined(values[0] if values else (), text)
            _sizes(text, *values, *named.values())
        else:
            for each in (*values, *named.values()):
                if isinstance(each, int):
                    _small(each)
        return _short(super().call(context, made, *values, **named))

    def wrap_str_format(self, value: Any) -> Any:
        """A text's `format`. Raises SecurityError."""
        made = super().wrap_str_format(value)
        if made is not None:
            _narrow(value.__self__)
        return made

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        """What two values come to. Raises SecurityError."""
        if operator == "**":
            _small(left)
            _small(abs(right) * 10_000)
        elif operator == "*":
            for some, times in ((left, right), (right, left)):
                if isinstance(some, Sequence) and isinstance(times, int):
                    _small(len(some) * times)
                    _weigh(some)
        elif operator == "%" and isinstance(left, str):
            _narrow(left)
            _sizes(*(right if isinstance(right, tuple) else (right,)))
        return _short(super().call_binop(context, operator, left, right))

    def _spend(self, steps: int) -> None:
        self.left -= steps
        if self.left < 0:
            raise SecurityError(f"it takes more than {STEPS:,} steps")

    def _counted(self, values: Iterable[Any], each: int) -> Any:
        found: Any = values if hasattr(values, "__len__") else list(islice(values, STEPS))
        self._spend(len(found) * each)
        return found

    def _written(self, value: Any) -> Any:
        if not isinstance(value, str):
            _weigh(value)
            return value
        self.room -= len(value)
        if self.room < 0:
            raise SecurityError(f"it writes more than {10 * LONGEST:,} characters")
        return value


def joined(values: Iterable[Any], between: str = "") -> str:
    """Values as one text; Jinja's own is slow. Raises SecurityError."""
    found = list(islice(values, LONGEST))
    _weigh(found)
    texts = list(map(str, found))
    _small(sum(map(len, texts)) + len(between) * len(texts))
    return between.join(texts)


def _sized(filtering: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(filtering)
    def sized(*values: Any, **named: Any) -> Any:
        if isinstance(values[0], str):
            _narrow(values[0] if filtering.__name__ == "do_format" else "")
        _sizes(*values, *named.values())
        return _short(filtering(*values, **named))

    return sized


def _filtered(node: Any, name: str, *values: nodes.Expr) -> nodes.Filter:
    return nodes.Filter(node, name, list(values), [], None, None, lineno=(node and node.lineno) or 1)


def _small(value: float) -> None:
    if abs(value) > LONGEST:
        raise SecurityError(f"{value:.4g} is more than {LONGEST:,}")


def _sizes(*values: Any) -> None:
    """Raises SecurityError for numbers that are too large, and for texts that may come to too much together."""
    product = 1
    for each in values:
        if isinstance(each, int | float):
            _small(each)
        elif isinstance(each, str):
            product *= max(len(each), 1)
        else:
            _weigh(each)
    if product > 100 * LONGEST:
        raise SecurityError(f"the texts are too long: {LONGEST:,} characters are all that may come of them")


def _weigh(value: Any) -> None:
    """Raises SecurityError for values in one another that are too many to be written down."""
    left = [value]
    for count, each in enumerate(left):
        if isinstance(each, dict):
            left += each.values()
        elif isinstance(each, list | tuple):
            left += each
        if count > STEPS or len(left) > LONGEST * 2:
            raise SecurityError("a list holds too much to be written down")


def _narrow(text: str) -> None:
    if WIDE.search(text) or ("*" in text and "%" in text):
        raise SecurityError("a format as wide as that is not made")


def _short(value: Any) -> Any:
    if isinstance(value, str | list | tuple) and len(value) > LONGEST:
        raise SecurityError(f"a text has more than {LONGEST:,} characters")
    return value
