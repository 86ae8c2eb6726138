"""The published facts of the counterfactual paper's games: matches.parquet and rounds.parquet, without any text."""

from pathlib import Path

import msgspec
import pandas as pd
import pyarrow as pya
import pyarrow.parquet as pq

from agon.errors import AgonError
from agon.paths import display_path
from agon_papers.ingest.base import Bad, Conditions, Records, Settings, reading

MATCHES = pya.schema(
    [(name, pya.string()) for name in ("source_path", "model", "prompt", "opponent", "payoffs")]
    + [("self_consistency", pya.bool_()), ("temperature", pya.float64())]
    + [(name, pya.int64()) for name in ("match", "repetition", "max_tokens")]
)
ROUNDS = pya.schema(
    [(name, pya.string()) for name in ("action", "opponent_action")]
    + [(name, pya.float64()) for name in ("points", "opponent_points")]
    + [(name, pya.int64()) for name in ("match", "round", "tokens", "opponent_tokens")]
    + [("valid", pya.bool_())]
)


def read_facts(folder: Path) -> Records:
    """Everything in the two files. Raises AgonError when one is missing or damaged."""
    matches = _read_table(folder / "matches.parquet", MATCHES)
    rounds = _read_table(folder / "rounds.parquet", ROUNDS)
    if matches.match.duplicated().any():
        raise AgonError(f"{display_path(folder / 'matches.parquet')} has two matches of one number: get the file again")
    place = pd.Index(matches.match).get_indexer(rounds.match)
    bad = []
    if orphans := (place < 0).sum():
        bad.append(Bad("rounds.parquet", f"{orphans} rounds left out: matches.parquet does not have their matches"))
    rounds = rounds.assign(match=place)[place >= 0].sort_values(["match", "round"], kind="stable")
    rows = {name: rounds[name].to_numpy().repeat(2) for name in ("match", "round", "valid")}
    for name in ("action", "points", "tokens"):
        rows[name] = rounds[[name, f"opponent_{name}"]].to_numpy().ravel()
    rows["action"] = pd.Categorical(rows["action"])
    conditions = [
        Conditions(
            path=match.source_path,
            model=match.model,
            style=match.prompt,
            self_consistency=match.self_consistency,
            opponent=match.opponent,
            repetition=match.repetition,
            temperature=match.temperature,
            max_tokens=match.max_tokens,
            settings=_parse_settings(match.payoffs),
        )
        for match in matches.itertuples(index=False)
    ]
    return Records(conditions, pd.DataFrame(rows), bad)


def _read_table(path: Path, schema: pya.Schema) -> pd.DataFrame:
    with reading(path):
        table = pq.ParquetFile(path).read(schema.names).select(schema.names).cast(schema)
        table.validate(full=True)
        frame = table.to_pandas()
    gaps = [name for name in schema.names if not name.endswith("action") and table[name].null_count]
    if gaps:
        raise AgonError(f"{display_path(path)} has empty cells in {', '.join(gaps)}: get it again")
    return frame


def _parse_settings(payoffs: str) -> Settings:
    try:
        return msgspec.json.decode(payoffs, type=Settings)
    except (msgspec.DecodeError, RecursionError):
        return {"unreadable": payoffs}
