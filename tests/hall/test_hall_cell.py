"""A table in a cell of a notebook: the page of a seat in a frame, served by the notebook's own process."""

import asyncio

import pytest
from driving import Visitor
from patience import LONG

from agon import AgonError
from agon_hall import cell as cells


@pytest.fixture
def apart(tmp_path, monkeypatch):
    """Nothing of this test is kept where people's own answers are."""
    monkeypatch.setattr(cells, "FOLDER", tmp_path)
    monkeypatch.setattr(cells, "_halls", {})
    monkeypatch.setattr(cells, "_servers", {})


def test_a_person_plays_in_a_frame_and_has_the_turns(apart, short):
    async def run():
        made = cells.Cell("pd", ["human", "tit_for_tat"])
        other = cells.Cell("pd", ["human", "human"])
        frame = made.seat(1)
        assert frame.src == made.link(1) and 'src="http://127.0.0.1:' in frame._repr_html_()
        assert frame.src.partition("/seat")[0] == other.link(2).partition("/seat")[0]  # one server for all cells
        with pytest.raises(AgonError, match="play on in the cell above"):
            made.turns()
        ada = await Visitor("", frame.src).opens()
        assert ada.reply.headers["content-security-policy"].endswith("frame-ancestors *")
        assert "X-Frame-Options" not in ada.reply.headers
        await ada.presses("I agree, and sit down", name="Ada")
        for _ in range(3):
            await ada.opens()
            await ada.presses("cooperation")
        await made.played()
        assert list(made.turns().query("agent == 'human'").action) == ["cooperation"] * 3
        server, running = cells._servers[made.hall.folder]
        server.end()
        await running
        await made.hall.close()

    asyncio.run(asyncio.wait_for(run(), LONG))


def test_scripts_play_in_a_cell_and_leave_nothing_behind(apart, tmp_path):
    async def run():
        made = cells.Cell("pd", ["tit_for_tat", "tit_for_tat"])
        await made.played()
        return made.turns()

    assert asyncio.run(run()).equals(asyncio.run(run()))
    assert not list(tmp_path.iterdir())
