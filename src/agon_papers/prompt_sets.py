"""The prompt sets of models that a page lays beside a paper's."""

import pandas as pd

WORDS = {
    "as_played": "all elements that the paper's recorded games told, in agon's words",
    "as_printed": "all elements that the paper prints, in agon's words",
    "ours": "agon's own texts",
}

STAND_IN = "standin"
"""How the names of stand-ins in conf/model begin."""


def describe_prompts(turns: pd.DataFrame, paper: str, usual: str = "as_played") -> str:
    """Which prompt sets the models of `turns` had, in Markdown.

    Warns where one is not the `usual` set of this comparison, and where a stand-in answered in the place of a model.
    """
    of_models = turns[turns.model.notna() & turns.asked]
    scripts = sorted(name for name in set(of_models.model.astype(str)) if name.startswith(STAND_IN))
    warning = f"**{', '.join(scripts)}: A SCRIPT, NOT A MODEL.** Its numbers say nothing about models. " * bool(scripts)
    sets = sorted(set(of_models.prompts.astype(object).where(of_models.prompts.notna(), "not recorded")))
    if not sets:
        return "Prompts: none, as no model was asked."
    names = ", ".join(f"`{name}` ({WORDS[name]})" if name in WORDS else name for name in sets)
    line = f"{warning}Prompts: {names}. The elements of each set are [listed](../docs/prompts-{paper}.md)."
    if sets == [usual]:
        return line
    return f"{line} **Warning: the paper's models had the elements of `{usual}`. A difference to them may come from the prompts.**"
