"""The protocol as a model: a small world in plain Python, of which every reachable state is looked at.

Read it in this order, and you know the protocol: `world` (what there is), `guards` (what keeps it right, and where in
the code), `worker` and `ledger` (the beats of an effect), `reconcile` and `ending` (doubt, and the way back),
`vendor`, `people` and `weather` (everybody who can spoil it), `oracle` (what must never be true), `search`.

The model shares no code with the engine. It shares words, and `tests/proof/test_model_code.py` holds its moves against
the engine's tables of legal ones.
"""

from __future__ import annotations

from proof.model.prove import prove

__all__ = ["prove"]
