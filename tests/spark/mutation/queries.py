"""Views that each use a part of the analysis which the others do not."""

from __future__ import annotations

from freshline.sql.query.records import Source
from tests.support.recorded_plans import CHOOSING
from tests.support.view_cases import SOURCES
from tests.unit.sql.test_keys import FOUND, NONE

H = "date_trunc('hour', ts)"
MERGING = (
    "SELECT usr, count(*) AS n, sum(amount) AS s, max(amount) AS m FROM orders GROUP BY usr",
    "SELECT usr, count(DISTINCT id) AS n, sum(amount) AS s FROM orders GROUP BY usr",
    (
        "SELECT usr, count(DISTINCT id) AS n, count(DISTINCT amount) AS a FROM orders GROUP BY usr"
        " HAVING count(*) > 1"
    ),
    (
        "SELECT usr, avg(amount) AS a, count(*) FILTER (WHERE amount > 2) AS n FROM orders"
        " GROUP BY usr"
    ),
    (
        "SELECT usr, min_by(id, amount * 1000 + id) AS i, max_by(id, amount * 1000 + id) AS x"
        " FROM orders GROUP BY usr"
    ),
    "SELECT usr, median(amount) AS m, percentile(amount, 0.25) AS q FROM orders GROUP BY usr",
    "SELECT usr, var_samp(amount) AS v, stddev_pop(amount) AS d FROM orders GROUP BY usr",
    "SELECT sum(amount) AS s, avg(amount) AS a FROM orders WHERE usr > 1",
    "SELECT usr, id, grouping(usr) AS g, count(*) AS n FROM orders GROUP BY ROLLUP (usr, id)",
    "SELECT usr, count(*) AS n FROM orders GROUP BY usr, id",
    "SELECT DISTINCT usr, amount FROM orders WHERE amount > 0",
    "SELECT usr FROM orders UNION SELECT usr FROM clicks",
    (
        "SELECT usr, count(*) AS n FROM (SELECT usr, id FROM orders UNION ALL SELECT usr, id FROM"
        " orders) GROUP BY usr"
    ),
    (
        "SELECT usr, count(*) AS n FROM (SELECT usr FROM orders UNION SELECT usr FROM orders)"
        " GROUP BY usr"
    ),
    (
        "SELECT u.name, count(o.id) AS n, sum(o.amount) AS s FROM users u LEFT JOIN orders o"
        " ON o.usr = u.usr AND o.amount > 1 GROUP BY u.name"
    ),
    (
        "SELECT u.name, count(o.id) AS n FROM users u LEFT JOIN orders o ON o.usr = u.usr"
        " WHERE o.amount > 1 OR o.amount IS NULL GROUP BY u.name"
    ),
    (
        "SELECT u.name, count(*) AS n, sum(o.amount) AS s FROM users u FULL JOIN orders o"
        " ON o.usr = u.usr WHERE coalesce(o.amount, 9) > 2 GROUP BY u.name"
    ),
    (
        "SELECT o.usr, count(*) AS n, sum(c.n) AS s FROM orders o JOIN clicks c ON o.usr = c.usr"
        " GROUP BY o.usr"
    ),
    (
        "SELECT o.usr, count(c.id) AS n FROM orders o LEFT JOIN clicks c ON o.usr = c.usr"
        " GROUP BY o.usr"
    ),
    "SELECT a.usr, count(*) AS n FROM orders a JOIN orders b ON a.usr = b.usr GROUP BY a.usr",
    "SELECT sum(n) AS s, max(n) AS m FROM (SELECT usr, count(*) AS n FROM orders GROUP BY usr)",
    "SELECT count(*) AS n FROM (SELECT DISTINCT usr FROM orders)",
    "SELECT usr, n FROM (SELECT usr, count(*) AS n FROM orders GROUP BY usr) WHERE n > 2",
    (
        "SELECT usr, n, rank() OVER (ORDER BY n, usr) AS r FROM (SELECT usr, count(*) AS"
        " n FROM orders"
        " GROUP BY usr)"
    ),
    "SELECT usr, count(*) AS n FROM orders GROUP BY usr ORDER BY n DESC, usr LIMIT 2",
    "SELECT sum(amount) AS s FROM (SELECT amount, id FROM orders ORDER BY id, amount, ts LIMIT 3)",
    (
        "WITH c AS (SELECT usr, count(*) AS n FROM orders GROUP BY usr) SELECT usr, n FROM c"
        " WHERE n > (SELECT avg(n) FROM c)"
    ),
    (
        "WITH c AS (SELECT usr, count(*) AS n FROM orders GROUP BY usr) SELECT usr,"
        " (SELECT max(n) FROM c) AS most FROM c"
    ),
    "SELECT usr, count(*) AS n FROM orders WHERE usr IN (SELECT usr FROM clicks) GROUP BY usr",
    (
        "SELECT usr, count(*) AS n FROM orders WHERE usr IN (SELECT usr FROM users WHERE"
        " name > 'b')"
        " GROUP BY usr"
    ),
    "SELECT usr FROM orders WHERE usr IN (SELECT usr FROM clicks ORDER BY usr, id LIMIT 2)",
    f"SELECT {H} AS h, usr, count(*) AS n, count(DISTINCT id) AS d FROM orders GROUP BY 1, 2",
    (
        "SELECT DISTINCT usr FROM (SELECT usr, amount FROM orders EXCEPT ALL SELECT usr,"
        " n FROM clicks)"
    ),
    "SELECT DISTINCT usr FROM (SELECT usr, amount FROM orders EXCEPT SELECT usr, n FROM clicks)",
)
GROUPS_OF_TIMES = "SELECT usr, shipped, count(*) AS n FROM orders GROUP BY usr, shipped"
GROUPS_OF_TWO = "SELECT usr, amount, count(*) AS n FROM orders GROUP BY usr, amount"
BY_TIME = (
    f"SELECT {H} AS h, sum(amount) AS s FROM orders GROUP BY {H} HAVING sum(amount) > 2",
    "SELECT date_trunc('quarter', ts) AS q, count(*) AS n FROM orders GROUP BY 1",
    "SELECT date_trunc('day', ts) AS d, count(*) AS n FROM orders GROUP BY 1",
    "SELECT CAST(ts AS DATE) AS d, count(*) AS n FROM orders GROUP BY 1",
    (
        "SELECT window(ts, '1 hour', '20 minutes').end AS w, count(*) AS n FROM orders"
        " GROUP BY window(ts, '1 hour', '20 minutes')"
    ),
    "SELECT time_bucket(INTERVAL 15 MINUTES, ts) AS b, count(*) AS n FROM orders GROUP BY 1",
    "SELECT date_add(CAST(ts AS DATE), -2) AS d, count(*) AS n FROM orders GROUP BY 1",
    "SELECT ts - INTERVAL '0 01:30:00' DAY TO SECOND AS t, id FROM orders",
    "SELECT ts + -INTERVAL 2 HOURS AS t, id, count(*) OVER (PARTITION BY ts) AS n FROM orders",
    (
        "SELECT ts, id, sum(amount) OVER (PARTITION BY usr ORDER BY ts RANGE BETWEEN"
        " INTERVAL 1 HOUR"
        " PRECEDING AND INTERVAL 10 MINUTES FOLLOWING) AS s FROM orders"
    ),
    (
        "SELECT ts, id, sum(amount) OVER (ORDER BY ts DESC RANGE BETWEEN INTERVAL 1 HOUR"
        " PRECEDING AND"
        " CURRENT ROW) AS s FROM orders"
    ),
    (
        "SELECT ts, id, sum(amount) OVER (ORDER BY ts RANGE INTERVAL 1 HOUR PRECEDING)"
        " AS s FROM orders"
    ),
    "SELECT ts, id, lag(id) OVER (PARTITION BY usr ORDER BY ts, id, amount) AS p FROM orders",
    (
        "SELECT ts, id, max(id) OVER (PARTITION BY date_trunc('day', ts)) AS m, count(*)"
        " OVER (ORDER"
        " BY ts RANGE BETWEEN INTERVAL 5 MINUTES PRECEDING AND CURRENT ROW) AS n FROM orders"
    ),
    (
        "SELECT o.ts, o.id, c.id AS c FROM orders o LEFT JOIN clicks c ON o.usr = c.usr AND"
        " c.ts BETWEEN o.ts - INTERVAL 1 HOUR AND o.ts"
    ),
    (
        "SELECT c.ts, o.id, c.id AS c FROM orders o RIGHT JOIN clicks c ON o.usr = c.usr AND"
        " c.ts > o.ts - INTERVAL 1 HOUR AND c.ts < o.ts + INTERVAL 30 MINUTES"
    ),
    (
        "SELECT coalesce(o.ts, c.ts) AS t, o.id, c.id AS c FROM orders o FULL JOIN clicks c"
        " ON o.ts = c.ts AND o.usr = c.usr"
    ),
    (
        "SELECT coalesce(o.ts, c.ts) AS t, o.id, c.id AS c FROM orders o FULL JOIN clicks c"
        " ON o.usr = c.usr AND c.ts BETWEEN o.ts - INTERVAL 1 HOUR AND o.ts"
    ),
    "SELECT o.ts, o.id, c.id AS c FROM orders o JOIN clicks c ON o.ts <=> c.ts",
    (
        "SELECT o.ts, o.id, c.id AS c FROM orders o JOIN clicks c ON o.usr = c.usr AND"
        " (c.ts = o.ts OR"
        " c.n > 3)"
    ),
    (
        "SELECT o.ts, o.id, c.id AS c FROM orders o JOIN clicks c ON o.usr = c.usr AND o.ts <> c.ts"
        " AND c.ts BETWEEN o.ts - INTERVAL 1 HOUR AND o.ts + INTERVAL 1 HOUR"
    ),
    (
        "SELECT o.ts, o.id, greatest(o.ts, c.ts) AS g FROM orders o JOIN clicks c ON"
        " o.usr = c.usr AND"
        " c.ts BETWEEN o.ts AND o.ts + INTERVAL 2 HOURS"
    ),
    (
        "SELECT ts, id FROM orders o WHERE NOT EXISTS (SELECT 1 FROM clicks c WHERE"
        " c.usr = o.usr AND"
        " c.ts BETWEEN o.ts - INTERVAL 10 MINUTES AND o.ts + INTERVAL 10 MINUTES)"
    ),
    "SELECT ts, id FROM orders WHERE ts IN (SELECT ts FROM clicks WHERE n > 1)",
    (
        "SELECT ts, id FROM orders o WHERE amount > (SELECT avg(n) FROM clicks c WHERE c.ts"
        " BETWEEN o.ts - INTERVAL 1 HOUR AND o.ts)"
    ),
    "SELECT ts AS t, id FROM orders UNION SELECT ts + INTERVAL 1 HOUR, id FROM clicks",
    "SELECT ts AS t, id FROM orders EXCEPT SELECT ts - INTERVAL 1 HOUR, id FROM clicks",
    (
        "SELECT ts AS t, shipped AS s FROM orders WHERE shipped BETWEEN ts AND ts + INTERVAL 1 DAY"
        " UNION ALL SELECT ts, ts + INTERVAL 3 DAYS FROM clicks"
    ),
    f"SELECT {H} AS h, usr, count(*) AS n FROM orders GROUP BY ROLLUP ({H}, usr)",
    (
        f"SELECT h, max(n) AS m FROM (SELECT {H} AS h, usr, count(*) AS n FROM orders"
        " GROUP BY 1, 2)"
        " GROUP BY h"
    ),
)
NULLS = (
    (
        "SELECT o.ts, o.id, c.id AS c FROM orders o JOIN clicks c ON c.ts >= o.ts AND c.ts >"
        " o.ts - INTERVAL 1 HOUR AND c.ts < o.ts + INTERVAL 1 HOUR"
    ),
    "SELECT add_months(CAST(ts AS DATE), 1) AS d, count(*) AS n FROM orders GROUP BY 1",
    (
        "SELECT ts, id, count(*) OVER (ORDER BY ts RANGE BETWEEN INTERVAL 1 HOUR - INTERVAL 20"
        " MINUTES PRECEDING AND CURRENT ROW) AS n FROM orders"
    ),
    (
        "SELECT o.ts, c.id FROM orders o JOIN clicks c ON c.ts BETWEEN"
        " o.ts - (INTERVAL 1 HOUR - INTERVAL 20 MINUTES) AND o.ts + -INTERVAL 5 MINUTES"
    ),
    "SELECT ts, usr, min(amount) AS m FROM orders GROUP BY CUBE (ts, usr)",
    # Times that are NULL, or become so beside a side that is missing.
    "SELECT o.ts, c.ts AS t, c.id FROM orders o FULL JOIN clicks c ON o.ts = c.ts WHERE o.id > 1",
    (
        "SELECT c.ts AS t, count(*) AS n FROM orders o LEFT JOIN clicks c ON o.ts = c.ts AND"
        " o.usr = c.usr GROUP BY c.ts"
    ),
    (
        "SELECT c.ts AS t, o.id FROM orders o LEFT JOIN clicks c ON o.usr = c.usr AND c.ts"
        " BETWEEN o.ts - INTERVAL 1 HOUR AND o.ts"
    ),
    "SELECT o.ts AS t, c.id FROM orders o FULL JOIN clicks c ON o.ts = c.ts",
    "SELECT o.ts, o.shipped AS t FROM orders o JOIN clicks c ON o.shipped <=> c.ts",
    "SELECT shipped AS t, id FROM orders WHERE shipped <=> ts",
    "SELECT ts, id FROM orders o WHERE shipped NOT IN (SELECT ts FROM clicks WHERE ts > o.ts)",
    (
        "SELECT ts AS t, id FROM orders UNION ALL SELECT ts, id FROM orders WHERE shipped BETWEEN"
        " ts AND ts + INTERVAL 1 HOUR UNION ALL SELECT ts - INTERVAL 3 HOURS, id FROM orders"
    ),
    (
        "SELECT h, count(*) AS n FROM (SELECT date_trunc('hour', ts) AS h FROM orders UNION ALL"
        " SELECT date_trunc('hour', ts + INTERVAL 5 HOURS) FROM orders) GROUP BY h"
    ),
    (
        "SELECT ts, id, sum(amount) OVER (ORDER BY ts, id RANGE BETWEEN CURRENT ROW AND CURRENT"
        " ROW) AS s FROM orders"
    ),
    "SELECT least(ts, ts + INTERVAL 1 HOUR) AS t, id FROM orders",
    "SELECT greatest(ts, ts + INTERVAL 1 HOUR) AS t, id FROM orders",
    (
        "SELECT coalesce(c.ts, o.ts) AS t, o.id, c.id AS c FROM orders o LEFT JOIN clicks c ON"
        " o.usr = c.usr AND c.ts BETWEEN o.ts AND o.ts + INTERVAL 2 HOURS"
    ),
    "SELECT ts + INTERVAL 2 DAYS AS t, id, count(*) OVER (PARTITION BY ts) AS n FROM orders",
    "SELECT ts + (INTERVAL 2 HOURS - INTERVAL 30 MINUTES) AS t, id FROM orders",
    (
        "SELECT date_trunc('hour', ts) AS h, usr, count(*) AS n FROM orders GROUP BY GROUPING SETS"
        " ((date_trunc('hour', ts), usr), (usr))"
    ),
    "SELECT ts, id FROM orders WHERE id > (SELECT max(id) FROM clicks)",
    (
        "SELECT ts, id FROM orders o WHERE amount > 3 OR EXISTS (SELECT 1 FROM clicks c WHERE"
        " c.ts = o.ts AND c.usr = o.usr)"
    ),
    "SELECT * FROM (SELECT ts, id FROM orders ORDER BY ts, id LIMIT 3)",
    "SELECT d, count(*) AS n FROM days GROUP BY d",
    "SELECT last_day(ts) AS l, sum(amount) AS s FROM orders GROUP BY last_day(ts)",
)
DEEPER = (
    # Conditions on a side that a static table's rows can lack: they drop these rows as well.
    (
        "SELECT u.name, count(o.id) AS n FROM users u LEFT JOIN orders o ON o.usr = u.usr"
        " WHERE o.amount > 1 GROUP BY u.name"
    ),
    (
        "SELECT u.name, count(*) AS n, sum(o.amount) AS s FROM users u FULL JOIN orders o"
        " ON o.usr = u.usr WHERE o.amount > 2 GROUP BY u.name"
    ),
    # What joins again with groups of its own rows, and conditions that need all rows.
    (
        "SELECT o.usr, sum(d.n) AS s FROM orders o JOIN (SELECT usr, count(*) AS n FROM orders"
        " GROUP BY usr) d ON o.usr = d.usr GROUP BY o.usr"
    ),
    (
        "SELECT a.usr, count(*) AS n FROM orders a JOIN orders b ON a.usr = b.usr JOIN clicks c"
        " ON c.usr = a.usr GROUP BY a.usr"
    ),
    (
        "SELECT usr, sum(amount) AS s FROM (SELECT usr, amount FROM orders WHERE id IN (SELECT id"
        " FROM clicks)) GROUP BY usr"
    ),
)
APPENDING = (
    "SELECT o.id, u.name FROM orders o LEFT JOIN users u ON o.usr = u.usr",
    "SELECT o.id, u.name FROM users u LEFT JOIN orders o ON o.usr = u.usr",
    "SELECT o.id, u.name FROM orders o RIGHT JOIN users u ON o.usr = u.usr",
    "SELECT o.id, u.name FROM orders o FULL JOIN users u ON o.usr = u.usr",
    "SELECT o.id, u.name FROM users u RIGHT JOIN orders o ON o.usr = u.usr",
    "SELECT id, usr FROM orders UNION ALL SELECT id, usr FROM clicks",
    "SELECT usr FROM orders UNION ALL SELECT usr FROM users",
    "SELECT id, usr FROM orders UNION SELECT id, usr FROM clicks",
    "SELECT DISTINCT id, usr FROM orders",
    "SELECT id, row_number() OVER (ORDER BY id, ts, amount) AS r FROM orders",
    "SELECT id FROM orders WHERE usr IN (SELECT usr FROM clicks)",
    "SELECT id, (SELECT max(n) FROM clicks) AS m FROM orders",
    "SELECT id FROM orders ORDER BY id, ts, amount LIMIT 3",
    "SELECT max(id) AS m FROM orders",
    "SELECT o.id, c.n FROM orders o JOIN clicks c ON o.id = c.id",
)
UNUSUAL = (
    # As other people write: in lower case, with words left out, with more parentheses.
    (
        "select o.ts as t, c.id from clicks c left join orders o on c.usr = o.usr and o.ts = c.ts"
        " where o.shipped <=> o.ts"
    ),
    (
        "select c.ts as t, o.id, c.id as c from orders o left outer join clicks c on o.usr = c.usr"
        " and c.ts between o.ts and o.ts + interval 1 hour where c.usr not in (select usr from"
        " users)"
    ),
    "select count(*) as n from users where usr in (select usr from clicks order by usr limit 3)",
    (
        "select usr, n, (select max(usr) from users) as most from (select usr, count(*) as n from"
        " orders group by usr)"
    ),
    "select o.ts as t, c.id from orders o right join clicks c on (o.ts = c.ts and o.usr = c.usr)",
    (
        "select o.ts, o.id, p.id as before from orders o left join orders p on p.usr = o.usr"
        " and p.ts between o.ts - interval 1 hour and o.ts - interval 1 second"
    ),
    (
        "select ts, id from orders o where amount >= (select max(p.amount) from orders p where"
        " p.usr = o.usr and p.ts between o.ts - interval 1 hour and o.ts)"
    ),
    (
        "select o.shipped as t, o.id from orders o where not exists (select 1 from clicks c where"
        " c.ts = o.ts and o.shipped between c.ts and c.ts + interval 1 hour)"
    ),
    (
        "select ts, id from orders o where exists (select 1 from orders p where p.usr = o.usr and"
        " p.ts between o.ts - interval 1 hour and o.ts - interval 1 second)"
    ),
    "select c.ts as t, o.id from orders o full join clicks c on o.ts = c.ts where o.id > 1",
    "select ts, id from orders where ts in (select ts + interval 1 hour from orders)",
    "select ts + (interval 5 hours - interval 2 hours) as t, id from orders",
    "select distinct coalesce(shipped, ts) as t, id from orders",
    (
        "select u.name, count(*) as n from users u left join orders o on o.usr = u.usr"
        " where o.id is null group by u.name"
    ),
    (
        "select u.name, count(*) as n, sum(o.amount) as s from users u full outer join orders o"
        " on o.usr = u.usr where o.id is null or o.id > 2 group by u.name"
    ),
    (
        "select window(h, '1 day').start as d, max(n) as m from (select window(ts, '1 hour').start"
        " as h, count(*) as n from orders group by window(ts, '1 hour')) group by window(h,"
        " '1 day')"
    ),
    "select d, usr, count(*) as n from days where usr is not null group by d, usr",
)
JOINED = (
    "SELECT o.id, c.n FROM orders o JOIN clicks c ON o.usr = c.usr AND o.id = c.n",
    (
        "SELECT o.id, c.n FROM orders o JOIN clicks c ON o.id = c.id UNION ALL SELECT -o.id, c.usr"
        " FROM clicks c JOIN orders o ON c.n > o.usr"
    ),
)
TRIED = (
    *JOINED,
    *(BY_TIME[0], BY_TIME[3], BY_TIME[11], MERGING[0], GROUPS_OF_TWO, GROUPS_OF_TIMES),
    *(BY_TIME[16], MERGING[17], APPENDING[5], MERGING[31]),
)
"""Views that go through every strategy."""

MARKS = Source("marks", {"code": "bigint", "name": "string", "usr": "int", "score": "double"})
"""Types that the other tables of the list have not."""

MUTATED = (*SOURCES, MARKS)
"""Every table that queries of the list read."""

NEWEST_OF_A_KEY = (
    "SELECT usr, id, amount FROM orders QUALIFY row_number() OVER (PARTITION BY usr"
    " ORDER BY id DESC, amount, ts, shipped) = 1"
)
WITHOUT_A_PARTNER = "SELECT o.usr, o.id FROM orders o LEFT ANTI JOIN clicks c ON c.usr = o.usr"
EITHER_SIDE = "SELECT usr, o.id AS o, c.id AS c FROM orders o FULL OUTER JOIN clicks c USING (usr)"
OF_TWO_COLUMNS = (
    "SELECT o.usr, o.id, count(*) OVER (PARTITION BY o.usr, o.id) AS n FROM orders o"
    " LEFT ANTI JOIN clicks c ON c.usr <=> o.usr AND c.n = o.id"
)
OTHER_NAMES = "SELECT o.id AS k, o.amount, c.n FROM orders o LEFT JOIN clicks c ON c.usr = o.id"
OF_TEXTS = "SELECT name, code, rank() OVER (PARTITION BY name ORDER BY code) AS r FROM marks"
KEYS_TRIED = (
    *(NEWEST_OF_A_KEY, WITHOUT_A_PARTNER, EITHER_SIDE),
    *(OF_TWO_COLUMNS, OTHER_NAMES, OF_TEXTS),
)
"""Views that only key-recompute keeps up."""

KEYED = (
    *KEYS_TRIED,
    *FOUND,
    *(query for query in NONE if "1 PRECEDING" not in query),
    "SELECT usr, sum(id) OVER (ORDER BY usr DESC) AS s FROM orders",
    (
        "SELECT usr, sum(id) OVER (ORDER BY usr RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING)"
        " AS s FROM orders"
    ),
    "SELECT o.usr, c.n FROM orders o LEFT JOIN clicks c ON c.usr = o.usr OR c.n > o.id",
    "SELECT o.usr, m.score FROM orders o LEFT JOIN marks m ON m.code = o.usr",
    "SELECT o.usr, m.score FROM orders o LEFT JOIN marks m ON m.name = o.usr",
    ("SELECT o.usr, m.code FROM orders o LEFT JOIN marks m ON m.score = o.usr AND m.usr = m.score"),
    # No NULLs are left: what tells of rows of other keys is the range alone.
    "SELECT usr FROM orders WHERE usr > 0 AND (usr IN (SELECT usr FROM clicks) OR id > 3)",
    "SELECT usr, sum(id) OVER (ORDER BY usr) AS s FROM orders WHERE usr > 0",
    (
        "SELECT usr, rank() OVER (ORDER BY amount) AS r, count(*) OVER (PARTITION BY usr) AS n"
        " FROM orders WHERE usr > 0"
    ),
    "SELECT usr FROM orders WHERE usr > 0 UNION SELECT id FROM orders WHERE id > 0",
    (
        "SELECT usr FROM orders o WHERE usr IN (SELECT usr FROM clicks) AND EXISTS"
        " (SELECT 1 FROM clicks c WHERE c.usr <> o.usr)"
    ),
    "SELECT o.usr FROM orders o LEFT ANTI JOIN clicks c ON c.usr = o.usr AND c.usr = o.id",
    "SELECT c.usr, o.id FROM orders o LEFT JOIN clicks c ON c.usr = o.usr WHERE c.usr <=> o.usr",
    (
        "SELECT o.usr, c.n FROM orders o LEFT JOIN clicks c ON c.usr >= o.usr"
        " AND (c.usr = o.usr OR c.n > o.id)"
    ),
    (
        "SELECT o.usr, c.n FROM users u LEFT JOIN orders o ON o.usr = u.usr LEFT JOIN clicks c"
        " ON c.usr = o.usr WHERE c.usr <=> o.usr"
    ),
    (
        "SELECT coalesce(o.usr, c.usr) AS usr, u.name FROM users u LEFT JOIN orders o"
        " ON o.usr = u.usr LEFT JOIN clicks c ON c.usr = u.usr"
    ),
    (
        "SELECT coalesce(o.usr, c.usr) AS usr, o.id FROM orders o FULL JOIN clicks c"
        " ON c.usr = o.usr OR c.n = o.id"
    ),
    "SELECT score, code, rank() OVER (PARTITION BY score ORDER BY code) AS r FROM marks",
    (
        "SELECT least(o.usr, c.usr, 2) AS usr, o.id FROM orders o LEFT JOIN clicks c"
        " ON c.usr = o.usr"
    ),
    "SELECT usr FROM orders WHERE usr IN (SELECT max(usr) FROM clicks) AND id > 2",
    "SELECT o.usr, o.id FROM orders o LEFT SEMI JOIN clicks c ON c.usr = o.usr AND c.n < o.id",
    "SELECT o.usr, o.id FROM orders o LEFT ANTI JOIN clicks c ON c.n = o.id",
    "SELECT c.usr, o.id FROM clicks c FULL JOIN orders o ON c.usr <=> o.usr",
    (
        "SELECT o.usr, u.r FROM orders o LEFT JOIN (SELECT usr, row_number() OVER (ORDER BY name)"
        " AS r FROM users) u ON u.usr = o.usr"
    ),
    "SELECT usr, id FROM orders UNION SELECT n, id FROM clicks WHERE usr > 1",
)
"""Views that have keys, or seem to."""

OF_A_DAY = tuple(
    CHOOSING[name].replace("CAST(ts AS DATE) AS d, ", "")
    for name in ("best in a subquery", "first in a subquery")
)
"""What these subqueries choose is one for a day, which the views do not show."""

ALL = (
    *CHOOSING.values(),
    *OF_A_DAY,
    *(GROUPS_OF_TWO, GROUPS_OF_TIMES),
    *BY_TIME,
    *NULLS,
    *MERGING,
    *DEEPER,
    *APPENDING,
    *UNUSUAL,
    *JOINED,
)
