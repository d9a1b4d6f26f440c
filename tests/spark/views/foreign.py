"""Queries as other people write them, each of which was once maintained wrongly or refused.

Over orders and clicks, which arrive, and users and tiers, which stand still. In lower case, with
USING and NATURAL, limits in parentheses, wide decimals: whatever our own queries do not use.
"""

from __future__ import annotations

from freshline.sql.query.records import Source
from tests.spark.views.lie_in_wait import traps

ORDERS = Source(
    "orders",
    {
        "ts": "timestamp", "shipped": "timestamp", "id": "int", "usr": "int", "amount": "int",
        "price": "decimal(38,18)",
    },
    time_column="ts",
)  # fmt: skip
CLICKS = Source("clicks", {"ts": "timestamp", "id": "int", "usr": "int", "n": "int"})
USERS = Source("users", {"usr": "int", "name": "string"}, static=True)
TIERS = Source("tiers", {"usr": "int", "tier": "string"}, static=True)

FOREIGN = traps("""
frame in lower case | recompute
select ts, id, usr, sum(amount) over (partition by usr order by ts range between interval 10 minutes
preceding and current row) as s from orders

frame behind in lower case | recompute
select ts, id, usr, count(*) over (partition by usr order by ts desc range between current row and
interval 1 hour 30 minutes following) as s from orders

more than the average | merge
WITH c AS (SELECT usr, count(*) n FROM orders GROUP BY usr) SELECT usr, n FROM c
WHERE n > (SELECT avg(n) FROM c)

nobody has more | merge
WITH c AS (SELECT usr, count(*) n FROM orders GROUP BY usr) SELECT usr, n FROM c
LEFT ANTI JOIN c d ON c.n < d.n

hours above the average | merge
WITH c AS (SELECT date_trunc('hour', ts) h, count(*) n FROM orders GROUP BY 1) SELECT h, n FROM c
WHERE n > (SELECT avg(n) FROM c)

dimension using behind a full join | merge
SELECT usr, a.n, b.m, t.tier FROM (SELECT usr, count(*) n FROM orders GROUP BY usr) a FULL JOIN
(SELECT usr, count(*) m FROM clicks GROUP BY usr) b USING (usr) LEFT JOIN tiers t USING (usr)

dimension using behind a right join | append
SELECT a.id, usr, t.tier FROM users b RIGHT JOIN orders a USING (usr) LEFT JOIN tiers t USING (usr)

natural joins of hours | merge
SELECT h, n, m, tier FROM (SELECT date_trunc('hour', ts) h, count(*) n FROM orders GROUP BY 1) a
NATURAL FULL JOIN (SELECT date_trunc('hour', ts) h, count(*) m FROM clicks GROUP BY 1) b
NATURAL LEFT JOIN (SELECT TIMESTAMP'2024-02-29 01:00:00' AS h, min(tier) AS tier FROM tiers) t

star of a table joined by using | merge
SELECT o.*, c.m FROM (SELECT id % 3 AS third, usr, count(*) k FROM orders GROUP BY 1, 2) o
JOIN (SELECT usr, count(*) m FROM clicks GROUP BY usr) c USING (usr)

top three in parentheses | merge
(SELECT usr, count(*) n FROM orders GROUP BY usr) ORDER BY n DESC, usr LIMIT 3

ten of a union in parentheses | merge
SELECT usr, count(*) n FROM ((SELECT id, usr FROM orders UNION ALL SELECT id, usr FROM clicks)
ORDER BY id, usr LIMIT 10) GROUP BY usr

any of all | merge
SELECT any(amount > 3) AS a, count(*) AS n FROM orders

any by group by all | merge
SELECT usr, any(amount > 3) AS a FROM orders GROUP BY ALL

branch with a name twice | recompute
SELECT id, shipped AS ts, ts AS ts2 FROM orders UNION ALL SELECT c.id, c.ts, o.ts FROM clicks c
JOIN orders o ON c.ts BETWEEN o.ts AND o.ts + INTERVAL 1 HOUR

averages of wide decimals | merge
SELECT usr, avg(CAST(price AS DECIMAL(38,20))) AS a, avg(price) AS b, avg(-price) AS c,
avg(CAST(price AS DECIMAL(12,2))) AS d FROM orders GROUP BY usr

average too wide to be merged | recompute
SELECT usr, avg(CAST(price AS DECIMAL(38,30))) AS a FROM orders GROUP BY usr

sum of wide decimals beside counted rows | recompute
SELECT c.usr, sum(c.p) AS s FROM clicks o JOIN (SELECT usr, sum(price) AS p FROM orders GROUP BY
usr) c ON o.usr = c.usr GROUP BY c.usr

having without groups below a sum | merge
SELECT sum(x) AS s, count(*) AS n FROM (SELECT 1 AS x FROM orders HAVING max(amount) > 2)

offset in an in | full
SELECT count(*) AS n FROM users WHERE usr IN (SELECT usr FROM clicks ORDER BY usr OFFSET 9)

offset in an exists | full
SELECT name FROM users u WHERE EXISTS (SELECT 1 FROM clicks c WHERE c.usr = u.usr ORDER BY id
OFFSET 3)

query in a lateral view | full
SELECT ts, o.id, x FROM orders o LATERAL VIEW explode((SELECT sort_array(collect_set(id % 4)) FROM
orders)) e AS x

two times of one text | recompute
SELECT o.ts, o.id, c.id AS cid FROM orders o JOIN clicks c ON c.ts BETWEEN
o.ts - interval 1 hour 30 minutes AND o.ts - interval 1 hour + interval 30 minutes

order of a set | full
SELECT usr, concat_ws(',', collect_set(CAST(id % 4 AS STRING))) AS x FROM orders GROUP BY usr

sorted set | merge
SELECT usr, concat_ws(',', sort_array(collect_set(CAST(id % 4 AS STRING)))) AS x FROM orders
GROUP BY usr

raw rows joined with an aggregate | merge
SELECT usr, sum(o.amount * c.n) AS s FROM orders o JOIN (SELECT usr, count(*) n FROM clicks
GROUP BY usr) c USING (usr) GROUP BY usr

raw rows joined with an aggregate in an hour | recompute
SELECT date_trunc('hour', o.ts) AS h, sum(o.amount * c.n) AS s FROM orders o JOIN (SELECT
date_trunc('hour', ts) AS h, count(*) AS n FROM clicks GROUP BY 1) c ON
date_trunc('hour', o.ts) = c.h GROUP BY 1

map as a group | merge
SELECT map('u', usr) AS m, count(*) AS n FROM orders GROUP BY map('u', usr)

names beyond ascii | merge
SELECT usr AS `größe`, date_trunc('hour', ts) AS `stündlich`, count(*) AS `zähler` FROM orders
GROUP BY 1, 2

to_date behind a left join | recompute
SELECT to_date(o.ts) AS d, count(*) AS n, count(c.id) AS m FROM orders o LEFT JOIN clicks c ON
to_date(c.ts) = to_date(o.ts) GROUP BY 1

to_date asks for its side | recompute
SELECT o.ts, to_date(c.ts) AS d, c.id FROM orders o LEFT JOIN clicks c ON c.ts BETWEEN o.ts AND
o.ts + interval 1 hour WHERE to_date(c.ts) > DATE'2024-01-01'
""")
