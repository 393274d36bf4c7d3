"""Every line of chosen modules, broken in one small way at a time: which breaks do the tests not notice?

`python -m proof.mutants --lines` makes the changes, tries them and lists what survived; `docs/mutation.md` explains
what did. A process has the tests, their database and the vendor's stand-in ready and forks once for each change: the
child puts the changed function in the place of the old one and runs the tests that reach its line, quickest first.
"""
