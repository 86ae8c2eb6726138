"""Counts the modules, lines and tokens of code, without comments and docstrings, of each package in src and of the notebooks.

python .ci/size.py [FOLDER]: counts this checkout, or the one in FOLDER.
"""

import ast
import io
import json
import sys
import tokenize
from collections import Counter
from pathlib import Path

NO_CODE = {
    *(tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT),
    *(tokenize.ENCODING, tokenize.ENDMARKER),
}


def size(source: str) -> Counter[str]:
    """Lines of code and tokens of a module or cell."""
    docstrings = {
        (node.lineno, node.col_offset)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
    }
    found = [
        token
        for token in tokenize.generate_tokens(io.StringIO(source).readline)
        if token.type not in NO_CODE and token.start not in docstrings
    ]
    lines = {line for token in found for line in range(token.start[0], token.end[0] + 1)}
    return Counter(modules=1, lines=len(lines), tokens=len(found))


def cells(notebook: Path) -> str:
    """The code of a notebook."""
    code = [cell["source"] for cell in json.loads(notebook.read_text("utf-8"))["cells"] if cell["cell_type"] == "code"]
    return "\n".join("".join(source) for source in code)


def main(root: Path) -> None:
    """Prints a line for each package, for src, and for the notebooks."""
    packages = {
        path.name: sum((size(file.read_text("utf-8")) for file in path.rglob("*.py")), Counter())
        for path in sorted((root / "src").iterdir())
        if any(path.rglob("*.py"))
    }
    notebooks = sum((size(cells(path)) for path in root.glob("notebooks/*.ipynb")), Counter())
    print(f"{'':15}{'modules':>8}{'lines':>9}{'tokens':>9}  tokens a line")
    for name, found in {**packages, "src": sum(packages.values(), Counter()), "notebooks": notebooks}.items():
        ratio = found["tokens"] / found["lines"]
        print(f"{name:15}{found['modules']:8,}{found['lines']:9,}{found['tokens']:9,}{ratio:9.1f}")


main(Path(*sys.argv[1:2] or [Path(__file__).parents[1]]))
