"""Holds the write lock of the database in a directory, like another server with a long transaction.

As a program, `lock_database.py FOLDER` prints `locked`, and releases the lock when its input ends.
"""

import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path


@contextmanager
def write_lock(folder: Path) -> Iterator[None]:
    (database,) = folder.glob("*.db")
    with closing(sqlite3.connect(database, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        finally:
            connection.execute("ROLLBACK")


if __name__ == "__main__":
    with write_lock(Path(sys.argv[1])):
        print("locked", flush=True)
        sys.stdin.read()
