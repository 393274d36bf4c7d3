"""What the model said and what the tool answered are the results of two steps."""

from __future__ import annotations

from dbos import DBOS

from tests.bench import conversing, kit, text
from tests.bench.dbos import engine
from tests.bench.meter import Meter

_begun: list[float] = []


@DBOS.step()
def think(no: int) -> str:
    """The model's words."""
    return text.conversation(conversing.TURNS)[no][0]


@DBOS.step()
def act(no: int) -> str:
    """The tool's answer."""
    return text.conversation(conversing.TURNS)[no][1]


@DBOS.workflow()
def talk(turns: int) -> int:
    """So many turns."""
    told: list[str] = []
    for no in range(turns):
        _begun.append(kit.now())
        told += [think(no), act(no)]
    return len(told)


def measure() -> kit.Figures:
    """What a conversation costs."""
    told = text.conversation(conversing.TURNS)
    engine.launch()
    talk(2)
    _begun.clear()
    meter = Meter()
    talk(len(told))
    _begun.append(kit.now())
    return conversing.figures(told, meter, _begun)
