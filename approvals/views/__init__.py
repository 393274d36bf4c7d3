"""One small module a noun. A view saves nothing: it asks one query or calls one command, and renders."""
