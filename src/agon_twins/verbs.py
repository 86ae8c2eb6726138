"""The verb certify-twins."""

import click

from agon.cli import options
from agon.cli.places import note_outside, outside_data
from agon.errors import AgonError, count, visible
from agon.paths import display_path


@click.command("certify-twins")
@options.out(default="results/twins/certificates.csv", help="A CSV file for the certificates.")
@options.turns(multiple=True, help="A turns table, along whose matches twins of their games are compared too.")
def certify_twins(out: str, turns: tuple[str, ...]) -> int:
    """Checks all twins and near-twins that conf/twin declares.

    It prints a row for each: what was compared, what solves both, what changed, or a counterexample. Exit code 3: a
    twin is not what conf/twin says.
    """
    import pandas as pd

    from agon.turns import read, write_table
    from agon_twins.certificates import all_certificates
    from agon_twins.walks import recorded_matches

    path, rows = outside_data(out), []
    if path.exists() and (not path.is_file() or path.read_bytes()[:18] != b"game,setting,twin,"):
        raise AgonError(f"--out {out} exists and has no certificates: choose another file")
    note_outside(path)
    recorded = {key: matches for table in turns for key, matches in recorded_matches(read(table)).items()}
    for row in all_certificates(recorded=recorded):
        rows.append(row)
        if row["counterexample"]:
            name = f"{row['game']} {row['setting']}~{row['twin']}"
            click.echo(visible(f"{name} is no {row['claim']}: {row['counterexample']}"))
    write_table(pd.DataFrame(rows), path)
    wrong, proved = sum(bool(row["counterexample"]) for row in rows), sum(row["holds"] for row in rows)
    summary = f"{count(len(rows), 'certificate')}, {proved} proved, {count(wrong, 'wrong claim')}"
    click.echo(f"{display_path(path)}: {summary}")
    return 3 if wrong else 0
