"""The verb certify-twins."""

import click

from agon.cli import options
from agon.cli.places import outside_data
from agon.errors import AgonError, count, visible
from agon.paths import display_path


@click.command("certify-twins")
@options.out(default="results/twins/certificates.csv", help="A CSV file for the certificates.")
def certify_twins(out: str) -> int:
    """Checks all twins and near-twins that conf/twin declares.

    One row each: what was compared, what solves both, what moved, or a counterexample. Exit code 3: a claim is wrong.
    """
    import pandas as pd

    from agon.turns import write_table
    from agon_twins.certificates import all_certificates

    path, rows = outside_data(out), []
    if path.exists() and (not path.is_file() or path.read_bytes()[:18] != b"game,setting,twin,"):
        raise AgonError(f"--out {out} is there, and holds no certificates: name another file")
    for row in all_certificates():
        rows.append(row)
        if not row["holds"]:
            name = f"{row['game']} {row['setting']}~{row['twin']}"
            click.echo(visible(f"{name} is no {row['claim']}: {row['counterexample']}"))
    write_table(pd.DataFrame(rows), path)
    wrong = sum(not row["holds"] for row in rows)
    click.echo(f"{display_path(path)}: {count(len(rows), 'certificate')}, {count(wrong, 'wrong claim')}")
    return 3 if wrong else 0
