"""What people do by hand to rows that are loaded: DELETE, UPDATE, MERGE, and rows written over.

Over the streams of :mod:`tests.spark.views.kinds`. Rows move from hour to hour and from group to
group, lose their time or their key and get one, go, and come; the rows' neighbours stay.
"""

from __future__ import annotations

from tests.support.share import WHOLE


def statements(text: str) -> tuple[str, ...]:
    """SQL's statements, each ended by a semicolon; ``{name}`` stands for a table."""
    return tuple(" ".join(each.split()) for each in text.split(";") if each.strip())


DEEDS = {
    "DELETE": statements("""
        DELETE FROM {orders} WHERE id % 6 = 1;
        DELETE FROM {clicks} WHERE id % 6 = 1 OR ts IS NULL;
        DELETE FROM {days} WHERE id % 6 = 1;
    """),
    "UPDATE": statements("""
        UPDATE {orders} SET ts = coalesce(ts + INTERVAL 1 HOUR, TIMESTAMP'2024-02-29'),
            usr = nullif(usr % 4 + 1, 2) WHERE id % 5 = 2;
        UPDATE {clicks} SET n = n + 1, ts = if(id % 2 = 0, NULL, ts - INTERVAL 30 MINUTES)
            WHERE id % 5 = 3;
        UPDATE {days} SET d = date_add(d, 1) WHERE id % 4 = 0;
    """),
    "MERGE": statements("""
        MERGE INTO {orders} t USING (
            SELECT ts + INTERVAL 5 MINUTES AS ts, shipped, id + if(id % 3 = 0, 500000, 0) AS id,
                usr, amount FROM {orders} WHERE id % 4 = 3 AND id < 500000) s
            ON t.id = s.id
            WHEN MATCHED AND t.amount IS NULL THEN DELETE
            WHEN MATCHED THEN UPDATE SET ts = s.ts, amount = s.amount % 3
            WHEN NOT MATCHED THEN INSERT *
            WHEN NOT MATCHED BY SOURCE AND t.id % 11 = 5 THEN DELETE;
        MERGE INTO {clicks} t USING (SELECT DISTINCT usr FROM {clicks} WHERE usr > 2) s
            ON t.usr = s.usr WHEN MATCHED THEN UPDATE SET usr = 5 - t.usr, n = NULL;
        MERGE INTO {days} t USING (SELECT id, d FROM {days} WHERE id % 3 = 0) s ON t.id = s.id
            WHEN MATCHED THEN UPDATE SET d = date_sub(s.d, 1), usr = 4;
    """),
    # Of days all is written, and most of it as it was.
    "OVERWRITE": statements("""
        INSERT INTO {orders} REPLACE WHERE usr = 2
            SELECT ts, shipped + INTERVAL 1 MINUTE, id, 2, amount FROM {orders}
            WHERE usr = 2 AND amount > 1;
        INSERT INTO {clicks} REPLACE WHERE usr = 1 SELECT * FROM {clicks} WHERE usr = 1 LIMIT 3;
        INSERT OVERWRITE {days} SELECT * FROM {days} WHERE id % 9 <> 4;
    """),
}

ONE_A_TABLE = (
    *DEEDS["UPDATE"][:1],
    *DEEDS["MERGE"][:1],
    *DEEDS["OVERWRITE"][1:2],
    *DEEDS["DELETE"][2:],
)

STEPS = tuple(DEEDS.values()) if WHOLE else (ONE_A_TABLE,)
"""What happens before each update that has to take rows back: one deed, or in short one a table."""


def deed(kind: str, table: str) -> str:
    """The statement of a kind, such as ``UPDATE``, on one table."""
    (found,) = (sql for sql in DEEDS[kind] if f"{{{table}}}" in sql)
    return found
