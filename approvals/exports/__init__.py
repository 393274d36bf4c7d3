"""Files that people take out of the ledger and the log: asked for, made in the background, kept for a while, gone."""
