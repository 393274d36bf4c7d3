"""The connection that the processes of a lane hand down: each goes on with the session that the dead one had.

A process dies between two statements, never inside one, so the session is whole. What it left open is rolled back, as
the server does when it finds a client gone. A server process of its own for each would cost more than all the rest.
"""

from __future__ import annotations

from django.db import connection
from psycopg import Connection
from psycopg.pq import ExecStatus

#: More than the engine has statements: none is thrown out to make room.
_MOST_PREPARED = 1_000
_PREPARED = b"SELECT name FROM pg_prepared_statements"


class Session:
    """The lane's one connection, as its processes inherit it."""

    def __init__(self) -> None:
        self._handed_down: set[bytes] = set()
        self._open()

    def hand_down(self) -> None:
        """From here on every process begins with what the session has prepared by now."""
        self._handed_down = self._prepared()

    def take_back(self, *, whole: bool) -> None:
        """Make the session what it was before the last process had it.

        Another one is opened where that process has closed it, or did not come to an end that leaves it `whole`: one
        that failed may have left an answer unread.
        """
        if not whole or self._raw.pgconn.exec_(b"ROLLBACK").status != ExecStatus.COMMAND_OK:
            connection.close()
            self._handed_down = set()
            self._open()
        for name in self._prepared() - self._handed_down:
            self._raw.pgconn.exec_(b'DEALLOCATE "%s"' % name)

    def _open(self) -> None:
        connection.ensure_connection()
        self._raw.prepared_max, self._raw.prepare_threshold = _MOST_PREPARED, 0

    def _prepared(self) -> set[bytes]:
        found = self._raw.pgconn.exec_(_PREPARED)
        return {found.get_value(row, 0) or b"" for row in range(found.ntuples)}

    @property
    def _raw(self) -> Connection:
        session: Connection = connection.connection
        return session
