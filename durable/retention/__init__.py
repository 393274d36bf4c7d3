"""What is kept how long: the policy, what goes by it, what is held, and the room that everything takes."""

from __future__ import annotations

from durable.retention.pruning import Pruned, prunable, prune

__all__ = ["Pruned", "prunable", "prune"]
