"""The notebooks' shape: a question, tagged parameters that are the smoke test, short cells with a sentence before each."""

import ast
import itertools
import re
import statistics
from base64 import b64decode, b64encode

import nbformat
import pandas as pd
import papermill
import pytest
import yaml

from agon import ROOT, figures
from agon.conf import settings_of
from agon.notebook.page import guide, page, settle


def stages():
    """The notebooks that stages of dvc.yaml run; others may be as they like."""
    stages = yaml.safe_load((ROOT / "dvc.yaml").read_text())["stages"].values()
    commands = {stage["cmd"] for stage in stages if "cmd" in stage}
    commands |= {
        stage["do"]["cmd"].replace("${key}", key).replace("${item}", key)
        for stage in stages
        if "do" in stage
        for key in stage["foreach"]
    }
    return sorted(each.removeprefix(RUNS) for each in commands if each.startswith(RUNS))


READ = re.compile(r"^(\w+) =", re.MULTILINE)
RUNS = "python -m agon notebook "
NOTEBOOKS = [ROOT / "notebooks" / f"{name}.ipynb" for name in stages()]


def cells(path, kind):
    return [cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == kind]


def of_a_paper(cell):
    """Whether a cell decides a statement of a paper: one function, whose docstring is the sentence."""
    return cell.source.startswith("@statement(")


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
class TestEveryNotebook:
    def test_asks_one_question(self, path):
        assert cells(path, "markdown")[0].source.splitlines()[0].endswith("?")

    def test_has_its_parameters_first_and_tagged(self, path):
        assert cells(path, "code")[0].metadata["tags"] == ["parameters"]

    def test_is_short(self, path):
        statements = [len(ast.parse(cell.source).body) for cell in cells(path, "code") if not of_a_paper(cell)]
        by_section = any(map(of_a_paper, cells(path, "code")))
        longest = 35 if by_section or path.stem.endswith("_findings") else 20  # two to four cells a finding
        assert len(statements) <= longest and max(statements) <= 15 and statistics.median(statements) <= 8

    def test_has_no_line_that_a_page_would_cut(self, path):
        lines = [line for cell in nbformat.read(path, as_version=4).cells for line in cell.source.splitlines()]
        assert [line for line in lines if len(line) > 110 and not line.startswith("|")] == []

    def test_says_a_sentence_before_each_code_cell(self, path):
        every = nbformat.read(path, as_version=4).cells
        code = [(a, b) for a, b in itertools.pairwise(every) if b.cell_type == "code" and not of_a_paper(b)]
        assert all(a.cell_type == "markdown" for a, b in code)

    def test_says_what_each_statement_of_a_paper_is(self, path):
        functions = [ast.parse(cell.source).body for cell in cells(path, "code") if of_a_paper(cell)]
        assert all(len(body) == 1 and len(body[0].body) <= 9 and ast.get_docstring(body[0]) for body in functions)

    def test_asserts_something(self, path):
        assert any("assert " in cell.source for cell in cells(path, "code"))

    def test_is_committed_without_outputs(self, path):
        assert not any(cell.outputs or cell.execution_count for cell in cells(path, "code"))

    def test_is_given_only_parameters_that_it_declares(self, path):
        assert set(settings_of("notebook", path.stem)) <= set(papermill.inspect_notebook(str(path)))

    def test_says_of_every_file_that_it_reads_whether_it_is_a_sample(self, path):
        sources = [cell.source for cell in cells(path, "code")]
        read = {*re.findall(r"^(\w+_path|results) =", sources[0], re.MULTILINE)} | {"compare"} & set(
            READ.findall(sources[0])
        )
        [said] = re.findall(r"^show_caveats\((.*)\)$", "\n".join(sources[1:]), re.MULTILINE)
        assert set(said.split(", ")) == read


def test_every_notebook_of_the_report_is_run_by_a_stage():
    report = settings_of("notebook", "report")
    pages = {name.removesuffix(".html") for name in report["explorers"] if not name.startswith("explore_")}
    assert {*report["notebooks"], *pages, "report"} == {path.stem for path in NOTEBOOKS}


def test_settling_takes_out_all_that_differs_from_run_to_run():
    made = nbformat.v4.new_notebook(
        metadata={"papermill": {"duration": 1}, "language_info": {"name": "python", "version": "3.11.7"}}
    )
    cell = nbformat.v4.new_code_cell(
        "1", metadata={"execution": {"iopub.execute_input": "now"}, "tags": ["parameters"]}
    )
    made.cells.append(cell)
    settle(made)
    assert made.metadata == {"language_info": {"name": "python"}}
    assert made.cells[0].id == "cell-0" and made.cells[0].metadata == {"tags": ["parameters"]}


def shown(*outputs):
    """The page of a notebook with a heading, a hostile line, and one cell with these outputs."""
    cells = [nbformat.v4.new_markdown_cell("# Why?\n\n<script>alert(1)</script> <b onclick='x()'>bold</b>")]
    cells.append(nbformat.v4.new_code_cell("1", outputs=list(outputs)))
    return page(nbformat.v4.new_notebook(cells=cells), "n").partition("<main")[2]


def test_a_page_shows_headings_and_tables_as_such():
    html = pd.DataFrame({"a": [1]}).to_html(notebook=True)
    text = shown(nbformat.v4.new_output("execute_result", {"text/html": html}, execution_count=1))
    assert "<h1" in text and "<th>a</th>" in text and "<td>1</td>" in text and "&lt;" not in text


def test_a_table_has_a_dash_for_what_is_absent_and_no_minus_nought():
    html = pd.DataFrame({"a": [1, None], "b": [-0.0, -0.5]}).to_html(notebook=True)
    text = shown(nbformat.v4.new_output("execute_result", {"text/html": html}, execution_count=1))
    assert "NaN" not in text and "<td>–</td>" in text and "<td>0.0</td>" in text and "<td>-0.5</td>" in text  # noqa: RUF001


@pytest.mark.parametrize(("index", "kept"), [(None, 0), (pd.Index([3, 4], name="round"), 2), (["x", "y"], 2)])
def test_row_numbers_are_no_column_of_a_page(index, kept):
    html = pd.DataFrame({"a": [1, 2]}, index).to_html(notebook=True)
    text = shown(nbformat.v4.new_output("execute_result", {"text/html": html}, execution_count=1))
    assert len(re.findall(r"<td>\d", text)) == 2 and len(re.findall(r"<th>[\dxy]", text)) == kept


def test_what_a_cell_does_is_shown_with_its_code():
    outputs = [nbformat.v4.new_output("stream", name="stdout", text="seen")]
    cells = [nbformat.v4.new_markdown_cell("# Why?"), nbformat.v4.new_code_cell("0", outputs=outputs)]
    texts = [
        ("This cell writes. It is silent.", []),
        ("This cell counts.", outputs),
        ("This cell adds. So.", outputs),
        ("A.", []),
    ]
    for text, given in texts:
        cells += [nbformat.v4.new_markdown_cell(text), nbformat.v4.new_code_cell("1", outputs=given)]
    html = page(nbformat.v4.new_notebook(cells=cells), "n")
    hidden = [text for text, _ in texts if re.search(rf'class="code">\s*<p>{text}', html)]
    assert hidden == ["This cell writes. It is silent.", "This cell counts."]


def test_nothing_on_a_page_runs():
    hostile = "<script>alert(2)</script><img src=x onerror=alert(3)><style>body {display: none}</style>"
    text = shown(nbformat.v4.new_output("execute_result", {"text/html": hostile}, execution_count=1))
    assert "<script" not in text and "onclick" not in text and "<img" not in text and "<style" not in text


def test_what_is_no_picture_runs_nothing():
    hostile = nbformat.v4.new_output("display_data", {"image/png": 'x"><script>alert(4)</script>'})
    said = nbformat.v4.new_output("stream", name="stdout", text="seen")
    text = shown(said, hostile, said)
    assert "<script" not in text and text.count("seen") == 2


def test_the_data_of_a_radar_are_text():
    hostile = "</script><script>alert(5)</script>"
    told = {"image/png": {"agon_radar": {"axes": [hostile], "models": [], "printed": 1}}}
    text = shown(nbformat.v4.new_output("display_data", {"image/png": "AAAA"}, metadata=told))
    assert text.count("<script") == text.count("</script") == 2 and "alert(5)" in text


def test_a_figure_does_not_repeat_the_answer_above_it(tmp_path):
    chart, _ = figures.figure(1, 1, (figures.NARROW, 2))
    figures.headline(chart, "They learn")
    picture = figures.save(chart, tmp_path / "learning")
    told = {"image/png": {"alt": "They learn"}}
    drawn = nbformat.v4.new_output("display_data", {"image/png": b64encode(picture.data).decode()}, metadata=told)
    for answer, repeated in (("**They learn.**", False), ("**They rest.**", True)):
        above = nbformat.v4.new_output("display_data", {"text/markdown": answer})
        text = asked(nbformat.v4.new_code_cell("1", outputs=[above, drawn]), figures=tmp_path)
        source = re.search(r"svg\+xml;base64,([^\"]+)", text)[1]
        assert "They learn" not in b64decode(source).decode()
        assert ("<figcaption>They learn</figcaption>" in text) is repeated


def test_a_guide_leads_from_the_report_to_what_it_leads_to_from_docs():
    text = (
        "# One rule\n\n[a](#how-is-it-done) [b](b.md#c) [c](../src/x.py) [d](../notebooks/n.ipynb) [e](https://e.e/)\n\n"
        "[f](how-to/play.md#g) [h](../reports/h.html)\n\n## How is it done?\n\nSo."
    )
    made = guide("rule", text, {"all findings": "index.html"}, guides=["rule", "how-to/play"])
    for target in ("#how-is-it-done", "../docs/b.md#c", "../src/x.py", "n.html", "https://e.e/", "index.html"):
        assert f'href="{target}"' in made
    assert 'href="play.html#g"' in made and 'href="h.html"' in made
    assert 'id="how-is-it-done"' in made and "Show the code" not in made


def test_a_guide_of_a_folder_leads_to_its_neighbours():
    made = guide(
        "how-to/play", "# Play\n\n[a](rate.md) [b](../why.md) [c](../rule.md)", {}, guides=["how-to/rate", "why"]
    )
    assert [f'href="{target}"' in made for target in ("rate.html", "why.html", "../docs/rule.md")] == [True] * 3


@pytest.mark.parametrize(("columns", "wide"), [(["name", "points"], False), (["a long name", *"bcdefghijklm"], True)])
def test_the_keyboard_reaches_a_table_that_scrolls(columns, wide):
    html = pd.DataFrame([[1] * len(columns)], columns=columns).to_html(notebook=True)
    text = shown(nbformat.v4.new_output("execute_result", {"text/html": html}, execution_count=1))
    assert ('aria-label="table: a long name, b,' in text) is wide and ('tabindex="0"' in text) is wide
    assert "<th></th>" not in text


def test_a_picture_on_a_page_is_told_in_words():
    told = {"image/png": {"alt": 'points & "rounds"'}}
    picture = nbformat.v4.new_output("display_data", {"image/png": "AAAA"}, metadata=told)
    assert """alt='points &amp; "rounds"'""" in shown(picture)


def asked(*cells, **given):
    """The page of a notebook with these cells below its question."""
    return page(nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell("# Why?"), *cells]), "n", **given)


def test_a_page_lists_its_headings():
    text = asked(
        nbformat.v4.new_markdown_cell("## Do they *learn*?\n\nYes."), nbformat.v4.new_markdown_cell("## And then?")
    )
    contents = text.partition('class="contents"')[2].partition("</nav>")[0]
    assert re.findall(r'href="#([^"]+)"', contents) == re.findall(r'<h2 id="([^"]+)"', text)
    assert len(re.findall("<li>", contents)) == 2


def test_a_page_without_headings_has_no_contents():
    assert 'class="contents"' not in asked(nbformat.v4.new_markdown_cell("Because."))


def test_a_page_shows_its_code_and_what_is_said_of_it_by_one_switch(tmp_path, visit):
    about = nbformat.v4.new_markdown_cell("This cell adds.", metadata={"tags": ["code"]})
    shown = [nbformat.v4.new_output("execute_result", {"text/plain": "2"})]
    adds, again = (nbformat.v4.new_code_cell("1 + 1", outputs=shown) for _ in range(2))
    (tmp_path / "n.html").write_text(asked(adds, about, again), encoding="utf-8")

    def switch(seen):
        before = seen.locator("main").inner_text()
        seen.get_by_label("Show the code").check()
        return before, seen.locator("main").inner_text()

    before, after = visit(tmp_path / "n.html", switch)
    assert "adds" not in before and "1 + 1" not in before and before.count("2") == 2
    assert "adds" in after and after.count("1 + 1") == 2


def test_a_page_is_dark_where_the_reader_asks_for_it(tmp_path, visit):
    (tmp_path / "n.html").write_text(asked(nbformat.v4.new_markdown_cell("Because.")), encoding="utf-8")

    def light(seen):
        colour = seen.evaluate("getComputedStyle(document.body).backgroundColor")
        return sum(map(int, re.findall(r"\d+", colour))) / 3 / 255

    assert visit(tmp_path / "n.html", light, color_scheme="dark") < 0.2
    assert visit(tmp_path / "n.html", light, color_scheme="light") > 0.9


@pytest.mark.parametrize(("inches", "kind"), [(figures.NARROW, "narrow"), (8, "wide")])
def test_a_figure_on_a_page_is_a_drawing(tmp_path, inches, kind):
    chart, _ = figures.figure(1, 1, (inches, 2))
    figures.headline(chart, "They learn & rest")
    picture = figures.save(chart, tmp_path / "learning")
    shows = nbformat.v4.new_output("display_data", {"image/png": b64encode(picture.data).decode()})
    text = asked(nbformat.v4.new_code_cell("1", outputs=[shows]), figures=tmp_path)
    assert f'<figure class="{kind}"' in text and "data:image/svg+xml" in text and "data:image/png" not in text


def test_a_page_links_to_the_pages_before_and_after_it(tmp_path):
    links = {"previous: a": "a.html", "next: b": "b.html"}
    text = asked(links=links)
    assert [text.count(f'href="{target}"') for target in links.values()] == [2, 2]
