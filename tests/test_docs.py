"""What the docs say is there is there: links, commands, settings, numbers. Their code runs as doctests."""

import json
import re
import runpy
import shlex
import shutil
import sys
from pathlib import Path
from urllib.parse import quote

import click
import nbformat
import pandas as pd
import pytest
import yaml

from agon import ROOT
from agon.cli import agon, main
from agon.cli.job import Job
from agon.conf import build
from agon.plan import plan

DOCS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("data/*.md")])
HOW_TOS = sorted(ROOT.glob("docs/how-to/*.md"))
CELLS, SUMMARY = ROOT / "results/replication/cells.csv", ROOT / "reports/summary.txt"
FACTS = ROOT / "data/published/counterfactual"
TABLES = sorted((ROOT / "results/tables").glob("counterfactual_table_*.csv"))

BIN = str(Path(sys.executable).parent)  # not resolved: in a venv python is a link

needs_results = pytest.mark.skipif(not (CELLS.exists() and TABLES), reason="no results yet: make repro")


def blocks(path, language):
    """Fenced blocks of one language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", path.read_text(), re.MULTILINE | re.DOTALL)


def commands(path):
    """Every `python -m agon ...` of a page, in blocks and in lines, as lists of words."""
    found = re.findall(r"python -m agon ([^\n`|#]+)", path.read_text())
    return [shlex.split(words) for words in found]


def anchors(path):
    """The headings of a page as link targets; those of a notebook as its page has them."""
    if path.suffix == ".ipynb":
        cells = nbformat.read(path, as_version=4).cells
        titles = re.findall(r"^#+ (.+)$", "\n".join(cell.source for cell in cells), re.MULTILINE)
        return {quote(title.replace(" ", "-")) for title in titles}
    titles = re.findall(r"^#+ (.+)$", path.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def faulty_links(path):
    """The links of a page inside the repository that lead nowhere, or to no heading."""
    for link in re.findall(r"\]\(([^)\s]+)\)", path.read_text()):
        if link.startswith(("http://", "https://")):
            continue
        file, _, anchor = link.partition("#")
        target = path.parent / file if file else path
        within = target.exists() and target.resolve().is_relative_to(ROOT)
        if not within or (anchor and anchor not in anchors(target)):
            yield f"{path.relative_to(ROOT)}: {link}"


def test_links_lead_somewhere():
    assert len(DOCS) > 40 and [link for path in DOCS for link in faulty_links(path)] == []


def test_every_term_of_the_glossary_is_used_elsewhere():
    page = (ROOT / "docs/glossary.md").read_text().partition("## Abbreviations")[0]
    terms = re.findall(r"^\| (?!term \|)([^|-][^|]*) \|", page, re.MULTILINE)
    sources = [*ROOT.glob("src/**/*.py"), *ROOT.glob("conf/**/*.yaml"), *ROOT.glob("notebooks/*.ipynb")]
    pages = [path for path in DOCS if path.name not in ("glossary.md", "all-changes.md")]
    text = " ".join(" ".join(path.read_text().lower().split()) for path in [*sources, *pages])
    unused = [term for term in terms for name in term.split(", ") if not re.search(rf"\b{name.lower()}", text)]
    assert len(terms) > 80 and unused == []
    assert len(set(terms)) == len(terms), "a term stands there twice"


def command_fault(verb, arguments, capsys):
    """Why a command does not understand its arguments; None where it does."""
    command = agon.get_command(click.Context(agon), verb)
    if isinstance(command, Job):
        return None if main([verb, *arguments, "--cfg", "job"]) == 0 else capsys.readouterr().err
    try:
        command.make_context(verb, arguments)
    except click.ClickException as error:
        return error.message
    return None


def test_every_command_with_its_options_exists(capsys):
    verbs = {*agon.list_commands(click.Context(agon)), "VERB", "help"}
    faults, checks = [], 0
    for path in DOCS:
        for verb, *arguments in commands(path):
            if verb not in verbs:
                faults.append((path.name, verb))
            elif verb != "VERB" and not {"X", "NAME"} & set(re.findall(r"\w+", " ".join(arguments))):
                checks += 1
                if fault := command_fault(verb, arguments, capsys):
                    faults.append((path.name, verb, *arguments, fault))
    assert checks > 40 and faults == []


def test_every_notebook_that_is_run_has_the_parameters_given():
    notebook, faults, checks = agon.get_command(click.Context(agon), "notebook"), [], 0
    for path in DOCS:
        for verb, *arguments in commands(path):
            if verb != "notebook" or arguments[0] == "NAME":
                continue
            cells = nbformat.read(ROOT / f"notebooks/{arguments[0]}.ipynb", as_version=4).cells
            source = next(cell.source for cell in cells if "parameters" in cell.metadata.get("tags", []))
            for word in notebook.make_context(verb, arguments).params["parameters"]:
                checks += 1
                name = word.partition("=")[0]
                if not re.search(rf"^{name} =", source, re.MULTILINE):
                    faults.append((path.name, arguments[0], name))
    assert checks and faults == []


def test_every_plan_in_a_block_can_be_made(capsys):
    faults, checks = [], 0
    for path in DOCS:
        lines = [line for block in blocks(path, "sh") for line in block.splitlines() if "agon plan" in line]
        for line in lines:
            if any(other.startswith(f"{line} ") for other in lines):  # the longer line plans the same and more
                continue
            checks += 1
            if main(shlex.split(line)[3:]) != 0:
                faults.append((path.name, line, capsys.readouterr().err))
    assert checks and faults == []


def test_every_program_in_a_block_is_there():
    targets = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    lines = [line for path in DOCS for block in blocks(path, "sh") for line in block.splitlines()]
    of_a_server = {"sudo", "docker", "systemctl"}
    for program, *rest in (shlex.split(line, comments=True) for line in lines):
        known = program in {"cd", "export"} | of_a_server or shutil.which(program) or shutil.which(program, path=BIN)
        assert known, f"{program} is not installed"
        assert program != "make" or set(rest) <= targets, rest


def test_a_how_to_is_short_and_ends_in_a_test():
    faults = []
    for path in HOW_TOS:
        text = path.read_text()
        _, heading, test = text.partition("## The test that passes")
        if len(text.splitlines()) > 60:
            faults.append(f"{path.name} has more than 60 lines")
        if not (heading and ">>>" in test and text.rstrip().endswith("```")):
            faults.append(f"{path.name} does not end in a test")
    assert len(HOW_TOS) > 30 and faults == []


def test_every_settings_file_shown_can_be_used():
    examples = [
        yaml.safe_load(block)
        for path in HOW_TOS
        if path.name not in ("make-a-twin.md", "host-a-session.md")  # tests/twins and tests/hall have them
        for block in blocks(path, "yaml")
    ]
    assert len(examples) > 5
    for settings in examples:
        assert build(settings) is not None if "_target_" in settings else plan(settings), settings


@needs_results
def test_the_pictures_in_the_readme_are_findings_and_those_made():
    told = re.findall(r"!\[([^\]]+)\]\(docs/img/(\w+)\.png\)", (ROOT / "README.md").read_text())
    found = pd.concat(pd.read_csv(path) for path in (ROOT / "results/tables").glob("*_findings.csv"))
    assert sorted(name.partition("_")[0] for _, name in told) == sorted(set(found.paper))
    for alt, name in told:
        assert [alt] == [*found.finding[found.figure == name]], "README.md tells another finding"


@needs_results
@pytest.mark.skipif(not SUMMARY.exists(), reason="no summary yet: make repro")
def test_the_readme_says_what_agreed():
    counts = re.findall(r"(\w+): ([\d,]+) of ([\d,]+) printed cells", SUMMARY.read_text())
    text = (ROOT / "README.md").read_text()
    assert {reading for reading, _, _ in counts} == {"literal", "reconciled"}
    for _, agree, of in counts:
        assert agree in text and of in text, f"README.md does not say {agree} of {of}"
    absent = re.findall(r"(\d+) more cannot be recomputed", SUMMARY.read_text())
    told = text.partition("nothing is recorded from which they could be recomputed")[2].partition("\n")[0]
    assert absent and set(absent) == set(re.findall(r"\d+", told))
    agree, of = re.search(r"counterfactual, reconciled: ([\d,]+) of ([\d,]+)", SUMMARY.read_text()).groups()
    assert f"{agree} of {of} cells agree" in (ROOT / "docs/for-reviewers.md").read_text()


@needs_results
def test_the_readme_says_why_so_many_cells_agree():
    text = (ROOT / "README.md").read_text()
    variants = pd.read_csv(ROOT / "results/replication/counterfactual_variants.csv").dropna()
    moved = variants[variants.captioned_variant != variants.variant]
    heads = moved.table.value_counts()
    words = {9: "nine", 10: "ten", 8: "eight"}
    assert f"The captions of {words[(heads == 1).sum()]} tables, and the heads of a tenth," in text
    assert (heads > 1).sum() == 1
    cells = pd.read_csv(ROOT / "results/replication/counterfactual_differences.csv")
    means = [[f"{float(pair.split()[0]):g}" for pair in cells[name]] for name in ("recomputed", "published")]
    (a, b, c), (x, y, z) = means
    assert f"The published games give {a}, {b} and {c} there, and the paper prints {x}, {y} and {z}." in text
    assert [*cells.table] == [3, 3, 16]
    assert "all cells agree but three: two means of Table 3 and one of Table 16" in text


def table_numbers(part):
    """Numbers named as `Table 3` or `Tables 2, 6, 10`."""
    named = re.findall(r"Tables? ((?:\d+(?:, | and )?)+)", part)
    return {int(number) for numbers in named for number in re.findall(r"\d+", numbers)}


def test_what_decides_a_deviation_is_there():
    page = (ROOT / "docs/deviations.md").read_text()
    named = re.findall(r"`((?:agon|conf|tests)[\w/.]*)`(?: \(((?:`\w+`(?:, )?)+)\))?", page)
    for path, names in named:
        found = [place for place in (ROOT / "src" / path, ROOT / path) if place.exists()]
        assert found, f"there is no {path}"
        for name in re.findall(r"\w+", names):
            text = found[0].read_text()
            assert re.search(rf"^(?:def |class )?{name}\b", text, re.MULTILINE), f"{path} has no {name}"
    assert len(named) > 60


def test_a_section_has_ten_changes_at_most_and_the_others_elsewhere():
    versions, others = (
        re.split(r"^## ", (ROOT / name).read_text(), flags=re.MULTILINE)[1:]
        for name in ("CHANGES.md", "docs/all-changes.md")
    )
    assert [each.splitlines()[0] for each in versions] == [each.splitlines()[0] for each in others]
    assert all(1 <= len(re.findall("^- ", each, re.MULTILINE)) <= 10 for each in versions)
    assert len((ROOT / "README.md").read_text().splitlines()) <= 80


def test_the_page_of_deviations_is_made_of_its_tables():
    maker = runpy.run_path(str(ROOT / ".ci/deviations.py"))
    for name in maker["PAGES"]:
        assert maker["page"](name) == (ROOT / f"docs/{name}.md").read_text(), "run python .ci/deviations.py"
    words = maker["claims"]()
    assert len(words) == len(statements()) and all(words.values())
    for name in set(re.findall(r"`(\w+)`", (ROOT / "docs/not-judged.md").read_text())) & set(words):
        assert f'"{words[name]}" (`{name}`)' in (ROOT / "docs/not-judged.md").read_text()


def test_the_deviations_of_each_paper_begin_with_the_gravest():
    parts = re.split(r"^## ", (ROOT / "docs/deviations.md").read_text(), flags=re.MULTILINE)[1:]
    parts = [part for part in parts if not part.startswith("Verdicts that ")]
    for part in parts:
        rows = [line.split(" | ") for line in part.splitlines() if line.startswith("| ")][1:]
        levels = [re.sub(r"^\| \[?(\w+).*", r"\1", row[0]) for row in rows]
        assert levels == sorted(levels, key=["high", "medium", "low"].index) and set(levels) == {
            "high",
            "medium",
            "low",
        }
        assert all(len(row) == 6 for row in rows)
    assert len(parts) == 3


@pytest.mark.parametrize("paper", ["counterfactual", "magic", "tradecraft"])
def test_grave_differences_have_a_finding(paper):
    tables = [pd.read_csv(ROOT / f"docs/deviations/{name}.csv") for name in ("differences", "findings")]
    differences, about = (table[table.paper == paper] for table in tables)
    grave = differences[differences.severity == "high"]
    source = (ROOT / f"notebooks/{paper}_findings.ipynb").read_text()
    assert set(about["where"]) == set(grave["where"]) and not about["where"].duplicated().any()
    assert all(f'"## {question}' in source for question in about.finding)


@needs_results
def test_the_deviations_name_every_table_with_a_wrong_caption():
    tables = pd.concat(pd.read_csv(path) for path in TABLES)
    wrong = set(tables[tables.variant != tables.captioned_variant].table)
    page = (ROOT / "docs/deviations.md").read_text()
    rows = [line for line in page.splitlines() if "caption" in line or "column heads" in line]
    assert table_numbers("\n".join(row.split("|")[2] for row in rows if row.startswith("|"))) == wrong


@needs_results
def test_the_deviations_name_every_cell_that_does_not_agree():
    page = (ROOT / "docs/deviations.md").read_text().partition("## MAgIC")[0]
    differences = pd.read_csv(ROOT / "results/replication/counterfactual_differences.csv")
    for row in differences.itertuples():
        line = f"| Table {row.table}, {row.row} against {row.column} | {row.published} |"
        assert line in page and row.recomputed in page.split(line)[1].splitlines()[0], line
    assert page.count("does not agree |") == len(differences)


@needs_results
def test_the_deviations_count_cells_of_the_other_standard_deviation():
    agree = total = 0
    for path in TABLES:
        table = pd.read_csv(path, dtype={"published": str, "published_sd": str})
        slack = 0.5 * 10.0 ** -table.published.str.partition(".")[2].str.len().max() + 1e-9
        spread = table.sd * ((table.n - 1) / table.n) ** 0.5
        close = (table.value - table.published.astype(float)).abs() <= slack
        agree += (close & ((spread - table.published_sd.astype(float)).abs() <= slack)).sum()
        total += len(table)
    assert f"with n only {agree:,} of {total:,} cells agree" in (ROOT / "docs/deviations.md").read_text()


@needs_results
def test_the_deviations_are_right_about_efficiency_and_validity():
    cells = pd.read_csv(ROOT / "results/replication/counterfactual_cells.csv")
    literal = cells[cells.reading == "literal"].groupby(["table", "row", "column"]).agrees.all()
    assert not literal[[13, 23]].any()
    missed = literal[24][~literal[24]].index.get_level_values("row")
    assert f"which misses {' and '.join(missed)}" in (ROOT / "docs/deviations.md").read_text()


@pytest.mark.skipif(not (FACTS / "rounds.parquet").exists(), reason="no recorded games: dvc pull")
def test_the_deviations_count_the_records_rightly():
    matches, rounds = pd.read_parquet(FACTS / "matches.parquet"), pd.read_parquet(FACTS / "rounds.parquet")
    page = (ROOT / "docs/deviations.md").read_text()
    hunts = matches.match[(matches.opponent == "srep") & matches.source_variant.isin(["sh", "pd-alt"])]
    moves = rounds.opponent_action[rounds.match.isin(hunts)].dropna()
    assert f"stag in {moves.isin(['stag', 'cooperation']).sum():,} of {len(moves):,} recorded rounds" in page
    assert f"{(~rounds.valid).sum():,} of {len(rounds):,} rounds" in page
    llama = matches[matches.model == "Llama 3.1 405B Instruct"]
    assert set(llama.game) == {"pd"} and set(llama.opponent) == {"srep"}
    assert f"Llama 3.1 405B has {len(llama)} matches" in page
    assert set(matches.temperature) == {1.0}
    limits = [f"{limit:,}" for limit in sorted(matches.max_tokens.unique())]
    assert f"at most {limits[0]}, {limits[1]} or {limits[2]} tokens" in page


def statements():
    """The statements of the papers: (paper, name of the function in the paper's notebook)."""
    found = set()
    for path in ROOT.glob("notebooks/*_claims.ipynb"):
        code = "\n".join(cell.source for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code")
        names = re.findall(r"^@statement\((?:.|\n)*?^def (\w+)", code, re.MULTILINE)
        found |= {(path.stem.removesuffix("_claims"), name) for name in names}
    return found


def test_statements_that_decide_what_is_not_judged_are_there():
    page = (ROOT / "docs/not-judged.md").read_text()
    named, known = set(re.findall(r"`(\w+)`", page)) - {"PAPER_claims"}, {name for _, name in statements()}
    assert len(named) > 40 and named <= known, named - known
    assert all(line.count("|") == 4 for line in page.splitlines() if line.startswith("|"))


def test_the_tree_names_all_that_is_at_the_root_of_agon():
    tree = (ROOT / "docs/where-things-are.md").read_text().partition("  agon/ ")[2].partition("  agon_papers/")[0]
    named = {line.split()[0] for line in tree.splitlines()[1:]}
    entries = [
        path
        for path in (ROOT / "src/agon").iterdir()
        if path.is_file() or any(child.name != "__pycache__" for child in path.iterdir())
    ]
    entries = [path for path in entries if not path.name.startswith("__")]
    assert named == {f"{path.name}/" if path.is_dir() else path.name for path in entries}


def test_what_runs_before_a_commit_is_what_make_checks():
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"][0]["hooks"]
    checks = (ROOT / "Makefile").read_text().partition("\nchecks:")[2].partition("\n\n")[0]
    made = {line.strip().removesuffix(" notebooks/*.ipynb") for line in checks.splitlines()[1:]}
    assert {hook["entry"] for hook in hooks} == made


@needs_results
def test_the_verdicts_that_are_listed_as_changed_are_those_of_the_results():
    claims = pd.read_csv(ROOT / "results/replication/claims.csv")
    decided = {(row.paper, row.statement): row for row in claims.itertuples()}
    listed = pd.read_csv(ROOT / "docs/deviations/verdicts.csv")[["paper", "statement", "now", "why"]]
    assert len(listed) > 60 and not listed.duplicated(["paper", "statement"]).any()
    for paper, name, verdict, why in listed.itertuples(index=False):
        row = decided[paper, name]
        assert row.verdict == verdict, name
        if numbers := re.search(r"\S+ \(\S+ to \S+\)", why):
            assert numbers[0] == f"{row.estimate:.3g} ({row.low:.3g} to {row.high:.3g})", name


def test_the_docs_say_how_often_the_rule_was_changed():
    rule = (ROOT / "docs/statements-rule.md").read_text()
    changes = re.findall(r"^- 20\d\d-\d\d-\d\d", rule.partition("## Changed after it was applied")[2], re.MULTILINE)
    words = ["nineteen", "twenty", "twenty-one", "twenty-two", "twenty-three"]
    word = words[len(changes) - 19]
    for name in ("docs/statements-rule.md", "docs/for-reviewers.md", "CHANGES.md"):
        said = re.findall(r"before it was applied,? and changed\s+([\w-]+) times since", (ROOT / name).read_text())
        assert said == [word], name
    for path in DOCS:
        for said in re.findall(r"before it was applied[^\n]{0,20}", path.read_text()):
            assert "and changed" in said, path


def test_what_is_said_of_the_printed_numbers_is_what_agrees():
    papers = json.loads((ROOT / "results/agreement.json").read_text()).values()
    sums = {
        reading: [sum(each[reading][key] for each in papers) for key in ("agree", "of", "absent")]
        for reading in ("reconciled", "literal")
    }
    (agree, of, lacking), (literal, of_literal, lacking_literal) = sums.values()
    said = f"{agree:,} of {of:,} agree as reconciled with what was evidently done, {literal:,} of {of_literal:,} literally; "
    said += f"another {lacking:,}, or {lacking_literal:,} literally, cannot be recomputed"
    for name in ("CITATION.cff", ".zenodo.json"):
        assert said in " ".join((ROOT / name).read_text().split()), name
    everywhere = [*DOCS, *(ROOT / name for name in ("CITATION.cff", ".zenodo.json", "pyproject.toml"))]
    assert not [path for path in everywhere if "every published number" in path.read_text()]


def test_the_deviations_say_how_our_prompts_differ():
    page = (ROOT / "docs/deviations.md").read_text()
    [row] = re.findall(r"^\| \[(\w+)\]\(\S+\) \| Prompts \| .* \|$", page, re.MULTILINE)
    assert row == "high" and "same rules, formats and objective" not in page
    own = (ROOT / "src/agon/games/matrix/prompt.md").read_text() + "".join(
        path.read_text() for path in sorted((ROOT / "src/agon/agents/prompts/styles").glob("*.md"))
    )
    for lacking in ("example", "[hint]", " beats ", "tip"):  # what the row says that ours lack
        assert lacking not in own.lower()
    assert "not told how many rounds" in own and "no other square brackets" in own.lower()
    planner = (ROOT / "src/agon/games/tradecraft/prompts/planner.md").read_text()
    assert "our own planner's prompt does not ask" in page and "others' target" not in planner
    assert "no prompt that asks was tried" not in (ROOT / "docs/not-judged.md").read_text()


@pytest.mark.skipif(not (ROOT / "results/tables/tradecraft_targets.csv").exists(), reason="no results yet: make repro")
def test_the_deviations_say_whose_targets_take_more_crafts():
    harder = pd.read_csv(ROOT / "results/tables/tradecraft_targets.csv").harder.value_counts()
    first, second, neither = (harder.get(name, 0) for name in ("first", "second", "neither"))
    said = (
        f"its targets take more crafts in {first} of {harder.sum()} problems, fewer in {second}, as many in {neither}"
    )
    assert said in (ROOT / "docs/deviations.md").read_text()
