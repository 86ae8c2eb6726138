"""The hall's verbs: serve pages, rehearse studies, collect the results, back up, and erase a participant."""

from pathlib import Path

import click

from agon.cli import options
from agon.cli.places import outside_data, turns_file
from agon.errors import AgonError, count
from agon.paths import ROOT, display_path, in_project, write_file

folder = click.option("--folder", default=".agon/hall", metavar="FOLDER", help="The hall's folder.")


@click.command()
@click.option("--address", default="127.0.0.1", help="Another address needs AGON_PASSWORD in the environment.")
@click.option("--port", type=click.IntRange(1, 65535), default=8642, help="The port of the server.")
@click.option("--origin", "origins", multiple=True, metavar="HOST[:PORT]", help="A name by which browsers reach it.")
@click.option("--proxy", is_flag=True, help="A proxy sets X-Forwarded-For and X-Forwarded-Proto.")
@folder
@click.option("--sampling", default="as_done", metavar="NAME", help="A file in conf/sampling, for models at tables.")
@click.option(
    "--days", type=click.FloatRange(0, 3650, min_open=True), default=30, help="Days for which links are valid."
)
def serve(
    address: str, port: int, origins: tuple[str, ...], proxy: bool, folder: str, sampling: str, days: float
) -> None:
    """Lets people play, watch and annotate in a browser."""
    from agon_hall.server import serve as run_server

    run_server(in_project(folder), address, port, origins, proxy, sampling, click.echo, days)


@click.command()
@click.argument("study", default="")
@folder
@click.option("--out", metavar="FILE", help="The file to write, in the place of transcripts/people.parquet.")
@options.force
def collect(study: str, folder: str, out: str | None, force: bool) -> None:
    """Gathers people's matches into one transcript.

    Without STUDY, the finished matches of `serve` are written to transcripts/people.parquet. With STUDY,
    transcripts/studies/STUDY gets participants, pages, events and turns, and also wide tables for spreadsheets.
    Payments stay in the hall's folder.
    """
    from agon.plan import PERSON
    from agon.play import merge_turns
    from agon.turns import games_path, is_games, read, read_games, write, write_games
    from agon_hall.seating import PEOPLE

    place = in_project(folder)
    if study:
        from agon_hall.gather import gather

        click.echo(gather(place, study, outside_data(f"transcripts/studies/{study}")))
        return
    match_files = [path for path in sorted((place / "played").glob("*.parquet")) if not is_games(path)]
    if not match_files:
        raise AgonError("nobody has finished a match yet: python -m agon serve opens the tables")
    path = turns_file({"out": out, "force": force}, PEOPLE)
    turns = merge_turns(
        [read(path_of_match) for path_of_match in match_files], [path_of_match.stem for path_of_match in match_files]
    )
    if without_games := [path_of_match for path_of_match in match_files if not games_path(path_of_match).exists()]:
        click.echo(
            f"note: {count(len(without_games), 'match')} of an earlier agon cannot be replayed: "
            "no table of games is beside them"
        )
    write_games(
        read_games(*(path_of_match for path_of_match in match_files if path_of_match not in without_games)), path
    )
    write(turns, path)
    people = turns[turns.agent == PERSON].groupby("match", observed=True).seat.nunique().sum()
    click.echo(
        f"{display_path(path)}: {count(len(match_files), 'match')}, {count(people, 'seat')} of people, "
        f"{count(len(turns), 'turn')}"
    )


@click.command()
@click.argument("study")
def rehearse(study: str) -> None:
    """Tries out a study before people are invited.

    STUDY is a file in conf/study. The command checks keys, budgets and the bill. Scripts walk through every page as participants
    do, and write transcripts/rehearsed/STUDY. It costs nothing, because scripts also play in place of models.
    """
    from agon_hall.rehearsal import rehearse as run_rehearsal

    run_rehearsal(study, click.echo, in_project("transcripts/rehearsed") / study)


@click.command()
@click.argument("to", metavar="FOLDER")
@folder
def backup(to: str, folder: str) -> None:
    """Copies the hall's data, even while it runs.

    FOLDER gets a copy of the hall's folder at one moment. To restore it, move the broken folder away and copy back:
    agon backup .agon/hall --folder COPY. The copy has keys and says who is who: keep it as safe as the hall.
    """
    from agon_hall.upkeep import back_up

    click.echo(back_up(in_project(folder), in_project(to)))


@click.command()
@click.argument("study")
@click.argument("participant")
@folder
@click.option("--match", "whole_match", is_flag=True, help="Erase their matches too, with the rows of all players.")
@click.option("--yes", is_flag=True, help="Do not ask.")
def forget(study: str, participant: str, folder: str, whole_match: bool, yes: bool) -> None:
    """Erases a participant's data from a study.

    PARTICIPANT is the number with which they came, such as their Prolific id. Stop the server first. A tombstone stays:
    hashed name, cell, match and stage. Their moves stay in the matches of the others, unless --match erases these.
    """
    from agon_hall.upkeep import forget as erase

    def ask(what: str) -> bool:
        return yes or click.confirm(f"{what} Go on?")

    click.echo(erase(in_project(folder), study, participant, whole_match, ask))


@click.command("seat-models")
@click.argument("study")
@options.force
def seat_models(study: str, force: bool) -> None:
    """Writes the experiment in which models play a study.

    conf/experiment/STUDY.yaml gets the cells of the study, with its `models` in the places of people. `record` and
    `play` run it like any other experiment. Chance events are the same as for people.
    """
    from omegaconf import OmegaConf

    from agon_hall.protocol import experiment
    from agon_hall.protocol import study as study_of

    path = ROOT / "conf/experiment" / f"{study}.yaml"
    text = OmegaConf.to_yaml(OmegaConf.create(experiment(study_of(study))))
    write_file(path, f"# `agon seat-models {study}` has written this from conf/study/{study}.yaml.\n{text}", force)
    click.echo(f"{display_path(Path(path))} is written; now: python -m agon record experiment={study}")


@click.command()
@click.option("--names", metavar="NAME,...", required=True, help="Names such as ann,bob, of letters, digits, - and _.")
@click.option("--logs", default="data/logs/tradecraft", help="The folder of logs that they rate.")
@click.option(
    "--folder",
    default=".agon/hall/annotations",
    help="Where their answers go: annotations, in the folder of serve.",
)
@click.option("--days", type=click.IntRange(1, 3660), default=30, help="Days for which the links are valid.")
@click.option("--url", default="http://localhost:8642", help="Where browsers find the hall.")
@click.option("--language", default="en", help="The language of their pages, such as de.")
@click.option("--force", is_flag=True, help="Make new links also for raters who have one; old links end.")
def make_raters(names: str, logs: str, folder: str, days: int, url: str, language: str, force: bool) -> None:
    """Makes a personal link for each rater of logs.

    Raters work in a browser, turn by turn. All see the logs in the same order.

    A link opens only its owner's pages, and needs no password. It is printed once: agon keeps only its hash.
    """
    from agon_hall.raters import admit

    raters = list(dict.fromkeys(name.strip() for name in names.split(",") if name.strip()))
    if not raters:
        raise AgonError("--names must name somebody, as --names ann,bob")
    if not url.startswith(("http://", "https://")):
        raise AgonError(f"--url must begin with http:// or https://, not {url[:40]!r}")
    for name, key in admit(in_project(folder), raters, logs, days, force, language).items():
        click.echo(f"{name}  {url.rstrip('/')}/annotate?key={key}")
