"""Statements of vendors: what a vendor says that it did in a period, held against what the ledger says. Nothing here is
about SQL statements (`durable.ledger.statements`) or about signed ones (`durable.roots.statement`).

`requests` says which are to be made, `making` makes one, `listing` sets aside what the vendor lists, `matching` holds
it against the ledger, `explaining` takes people's explanations, and `status` says how it all stands.
"""
