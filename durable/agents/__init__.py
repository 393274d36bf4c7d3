"""Agents that come with the product: the demo's refund desk, and the tools that it acts with."""
