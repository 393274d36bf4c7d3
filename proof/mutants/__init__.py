"""The guards of the engine, broken one at a time in a copy of it: each must be noticed by the tests that name it.

`python -m proof.mutants` breaks them all. A guard whose loss no test notices is a guard that may be lost.
"""
