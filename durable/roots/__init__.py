"""Tamper evidence: signed roots over all chains, kept outside of the database, and all that is held against them."""
