"""The prompt sets of models that a page lays beside a paper's."""

import pandas as pd

WORDS = {
    "as_played": "all elements that the paper's recorded games told, in agon's words",
    "as_printed": "all elements that the paper prints, in agon's words",
    "ours": "agon's own texts",
}


def describe_prompts(turns: pd.DataFrame, paper: str, usual: str = "as_played") -> str:
    """Which prompt sets the models of `turns` had, in Markdown, with a warning where one is not the `usual` set of this comparison."""
    of_models = turns[turns.model.notna() & turns.asked]
    sets = sorted(set(of_models.prompts.astype(object).where(of_models.prompts.notna(), "not recorded")))
    if not sets:
        return "Prompts: none, as no model was asked."
    names = ", ".join(f"`{name}` ({WORDS[name]})" if name in WORDS else name for name in sets)
    line = f"Prompts: {names}. The elements of each set are [listed](../docs/prompts-{paper}.md)."
    if sets == [usual]:
        return line
    return f"{line} **Warning: the paper's models had the elements of `{usual}`. A difference to them may come from the prompts.**"
