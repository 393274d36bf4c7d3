"""A vendor stand-in: payments as Stripe's refund API behaves, a stock service without keys, and orders to
read.

It is a process of its own with a book of its own, and shares no code with the engine: the book is the only
witness of what really moved. Start it with `python -m standin --port 0 --book book.jsonl`; `standin.control`
lists what can be asked of it.
"""
