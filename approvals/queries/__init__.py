"""The read side: what each page shows, as plain values, in few queries. Nothing here writes or decides."""
