"""A database full of invented history, of a stated size: for measuring pages, queries and upkeep on.

Nothing of it is executed: `stories` write down the rows that the engine would have left behind, with chains that verify
and payloads that open, and `load` brings them in, all or nothing, with the guards off inside one transaction.
"""
