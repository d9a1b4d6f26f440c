"""SQL that lies in wait: queries in which a maintained view easily goes wrong.

Over three tables: sales and their parts, which arrive, and shops, which stand still.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from freshline.sql.query.records import Source

SALE = Source(
    "sale",
    {
        "id": "bigint", "at": "timestamp", "wall": "timestamp_ntz", "day": "date",
        "shop": "string", "amount": "decimal(12,2)", "rate": "decimal(7,5)", "weight": "double",
        "pieces": "int", "sum": "int", "hour": "timestamp", "flag": "boolean",
    },
    time_column="at",
)  # fmt: skip
PART = Source(
    "part",
    {"id": "bigint", "at": "timestamp", "kind": "string", "price": "decimal(9,3)", "n": "int"},
)
SHOP = Source("shop", {"shop": "string", "city": "string", "size": "int"}, static=True)
SOURCES = (SALE, PART, SHOP)


@dataclass(frozen=True)
class Trap:
    """A query and the strategy that its updates must take: append, recompute, merge or full."""

    name: str
    way: str
    query: str


def traps(text: str) -> tuple[Trap, ...]:
    """One a paragraph: ``name | strategy`` and below the query."""
    traps = []
    for paragraph in text.strip().split("\n\n"):
        head, query = paragraph.strip().split("\n", 1)
        name, way = (part.strip() for part in head.split("|"))
        traps.append(Trap(re.sub(r"\W+", "_", name), way, query))
    return tuple(traps)


ANYWHERE = traps("""
null group | merge
SELECT shop, sum(amount) AS s, count(*) AS n FROM sale GROUP BY shop

null in one of two keys | merge
SELECT shop, pieces, count(*) AS n FROM sale GROUP BY shop, pieces

null bucket and null group | recompute
SELECT date_trunc('hour', at) AS h, shop, percentile_approx(pieces, 0.5) AS p FROM sale GROUP BY
1, 2

only nulls in a group | merge
SELECT shop, sum(CASE WHEN id < 0 THEN pieces END) AS s, avg(NULLIF(pieces, pieces)) AS a,
max(CASE WHEN flag IS NULL THEN id END) AS m FROM sale GROUP BY shop

no group at all | merge
SELECT count(*) AS n, sum(pieces) AS s, min(shop) AS m FROM sale WHERE id < 0

no group, no row in a bucket | recompute
SELECT date_trunc('day', at) AS d, percentile_approx(pieces, 0.5) AS p FROM sale WHERE id % 2 = 5
GROUP BY 1

having that a group passes later | merge
SELECT shop, count(*) AS n FROM sale GROUP BY shop HAVING count(*) > 9

having that a group no longer passes | merge
SELECT shop, count(*) AS n FROM sale GROUP BY shop HAVING count(*) <= 9 OR shop IS NULL

having of an aggregate not shown | merge
SELECT date_trunc('day', at) AS d, max(pieces) AS m FROM sale GROUP BY 1 HAVING sum(sum) > 4

having that compares with all | merge
SELECT shop, sum(pieces) AS s FROM sale GROUP BY shop HAVING sum(pieces) > (SELECT avg(pieces) * 5
FROM sale)

distinct rows | merge
SELECT DISTINCT shop, pieces, day FROM sale

distinct in two aggregates | merge
SELECT shop, count(DISTINCT pieces) AS p, count(DISTINCT day) AS d, sum(amount) AS s FROM sale
GROUP BY shop

distinct with a filter | merge
SELECT count(DISTINCT shop) FILTER (WHERE pieces > 2) AS n, sum(DISTINCT pieces) AS s FROM sale

distinct above groups | merge
SELECT DISTINCT count(*) AS n FROM sale GROUP BY shop, pieces

rollup and a null of the data | merge
SELECT shop, flag, grouping_id() AS g, sum(amount) AS s FROM sale GROUP BY ROLLUP (shop, flag)

cube of three | merge
SELECT shop, flag, pieces, count(*) AS n FROM sale GROUP BY CUBE (shop, flag, pieces)

grouping sets with the grand total | merge
SELECT shop, day, avg(amount) AS a FROM sale GROUP BY GROUPING SETS ((shop), (day), ())

decimals of different scale | merge
SELECT shop, sum(amount * rate) AS s, sum(amount) + sum(rate) AS t, 100 * sum(amount * rate) /
sum(amount) AS r
FROM sale GROUP BY shop

wide decimals averaged | merge
SELECT avg(CAST(amount AS DECIMAL(38, 10))) AS a, avg(amount * rate) AS b, avg(pieces) AS c FROM
sale

decimals in a union | append
SELECT id, amount AS x FROM sale UNION ALL SELECT id, price FROM part

integers that become decimals | merge
SELECT sum(x) AS s, max(x) AS m FROM (SELECT pieces AS x FROM sale UNION ALL SELECT price FROM
part)

variance far from zero | merge
SELECT shop, stddev(weight + 1000000.0D) AS d, var_samp(pieces) AS v FROM sale GROUP BY shop

not a number | merge
SELECT max(CASE WHEN pieces = 1 THEN CAST('NaN' AS DOUBLE) ELSE weight END) AS m,
min(CASE WHEN pieces = 2 THEN CAST('-Infinity' AS DOUBLE) ELSE weight END) AS i FROM sale GROUP BY
shop

minus zero | merge
SELECT CASE WHEN pieces = 1 THEN -0.0D ELSE 0.0D END AS z, count(*) AS n FROM sale
GROUP BY CASE WHEN pieces = 1 THEN -0.0D ELSE 0.0D END

column called like an aggregate | merge
SELECT sum, sum(sum) AS count, count(sum) AS max FROM sale GROUP BY sum

column called like a function | merge
SELECT hour, count(*) AS `count` FROM sale GROUP BY hour

column called like a keyword | merge
SELECT shop AS `select`, sum(pieces) AS `from`, max(day) AS `group` FROM sale GROUP BY shop

names in other case | merge
SELECT SHOP AS Shop, Sum(PIECES) AS PieceS FROM sale GROUP BY sHOP

alias that hides a column | merge
SELECT upper(shop) AS shop, count(*) AS pieces FROM sale GROUP BY upper(shop)

comments and a semicolon in a string | append
SELECT id, /* not -- this */ concat(shop, '; -- ''x''') AS s -- nor this
FROM sale

the same parent twice | recompute
SELECT a.id, b.id AS other, a.at FROM sale a JOIN sale b ON a.at = b.at AND a.id < b.id

the same parent twice, grouped | merge
SELECT a.shop, count(*) AS n, sum(b.pieces) AS s FROM sale a JOIN sale b ON a.shop = b.shop AND
a.id <= b.id
GROUP BY a.shop

the same parent in a subquery | full
SELECT id, pieces FROM sale WHERE pieces > (SELECT avg(pieces) FROM sale)

the same parent in a union | append
SELECT id, at, 1 AS k FROM sale WHERE flag UNION ALL SELECT id, at, 2 FROM sale WHERE NOT flag

rows twice | append
SELECT shop, pieces FROM sale UNION ALL SELECT shop, pieces FROM sale

empty side of a union | append
SELECT id, shop FROM sale UNION ALL SELECT id, kind FROM part WHERE n > 1000

count of nothing in a static group | merge
SELECT s.shop, s.city, count(p.id) AS n, sum(p.pieces) AS t FROM shop s LEFT JOIN sale p ON p.shop
= s.shop
GROUP BY s.shop, s.city

not in with nulls | full
SELECT id, shop FROM sale WHERE id NOT IN (SELECT id FROM part WHERE kind = 'x')

in a static list with nulls | append
SELECT id, at FROM sale WHERE shop NOT IN (SELECT shop FROM shop WHERE shop IS NOT NULL)

exists of the same key | recompute
SELECT s.id, s.at FROM sale s WHERE EXISTS (SELECT 1 FROM part p WHERE p.id = s.id)

join of streams by key | append
SELECT s.id, s.shop, p.kind, p.price FROM sale s JOIN part p ON s.id = p.id

join of streams by key, grouped | merge
SELECT s.shop, p.kind, sum(p.price * s.pieces) AS v FROM sale s JOIN part p ON s.id = p.id GROUP
BY s.shop, p.kind

left join of streams, grouped | merge
SELECT s.shop, count(*) AS n, count(p.id) AS parts FROM sale s LEFT JOIN part p ON s.id = p.id
GROUP BY s.shop

band of a microsecond | recompute
SELECT s.id, p.id AS part, s.at FROM sale s JOIN part p ON p.at > s.at - INTERVAL 1 MICROSECOND
AND p.at <= s.at

band with nulls kept | recompute
SELECT s.id, p.id AS part, s.at FROM sale s LEFT JOIN part p ON p.at BETWEEN s.at - INTERVAL 10
MINUTES AND s.at

anti join in a band | recompute
SELECT s.id, s.at FROM sale s LEFT ANTI JOIN part p ON p.at BETWEEN s.at AND s.at + INTERVAL 1
HOUR AND p.n = s.pieces

group by all | merge
SELECT shop, day, count(*) AS n, sum(amount) AS s FROM sale GROUP BY ALL

group by place, order, limit | merge
SELECT shop, sum(pieces) AS s, min(id) AS i FROM sale GROUP BY 1 ORDER BY i DESC LIMIT 2

case as a group | merge
SELECT CASE WHEN pieces > 2 THEN 'many' WHEN pieces IS NULL THEN NULL ELSE 'few' END AS c,
sum(pieces) AS s
FROM sale GROUP BY CASE WHEN pieces > 2 THEN 'many' WHEN pieces IS NULL THEN NULL ELSE 'few' END

constant as a group | merge
SELECT 'all' AS g, count(*) AS n FROM sale GROUP BY 'all'

strings with quotes as groups | merge
SELECT concat(shop, "'s \\\\") AS g, count(*) AS n FROM sale GROUP BY concat(shop, "'s \\\\")

a doubled quote, which sqlglot would lose | merge
SELECT concat(shop, '''s') AS g, count(*) AS n FROM sale GROUP BY concat(shop, '''s')

trailing blanks and case of groups | merge
SELECT rpad(upper(shop), 3, ' ') AS g, count(*) AS n FROM sale GROUP BY 1

booleans | merge
SELECT shop, bool_and(flag) AS a, every(flag) AS e, some(flag) AS s, count_if(flag) AS c,
bit_xor(pieces) AS x
FROM sale GROUP BY shop

greatest of nulls | merge
SELECT greatest(max(pieces), max(sum)) AS g, max(pieces) + min(sum) AS s FROM sale GROUP BY shop

value of the newest | merge
SELECT shop, max_by(pieces, id) AS newest, min_by(amount, id) AS oldest FROM sale GROUP BY shop

struct as an aggregate | merge
SELECT shop, max(struct(at, id)) AS m, collect_set(pieces) AS c FROM sale GROUP BY shop

window struct as a key | merge
SELECT window, count(*) AS n FROM sale GROUP BY window(at, '1 hour')

explode of arrays with nulls | append
SELECT id, x FROM sale LATERAL VIEW explode(array(shop, NULL, 'y')) e AS x

explode of nothing | append
SELECT id, x FROM sale LATERAL VIEW OUTER explode(IF(flag, array(1, 2), array())) e AS x

two levels of groups | merge
SELECT n, sum(s) AS s FROM (SELECT shop, count(*) AS n, sum(pieces) AS s FROM sale GROUP BY shop,
day) GROUP BY n

frame over equal times | recompute
SELECT id, at, sum(pieces) OVER (ORDER BY at RANGE BETWEEN INTERVAL 5 MINUTES PRECEDING AND
CURRENT ROW) AS s FROM sale

first of each bucket | recompute
SELECT at, id FROM sale QUALIFY row_number() OVER (PARTITION BY date_trunc('hour', at) ORDER BY
id, at) = 1

intersection of streams | merge
SELECT id FROM sale INTERSECT SELECT id FROM part

except all | recompute
SELECT pieces FROM sale EXCEPT ALL SELECT n FROM part

full join of which one side is asked for | full
SELECT a.h, a.n, b.n AS m FROM (SELECT date_trunc('hour', at) AS h, percentile_approx(pieces, 0.5)
AS n FROM sale GROUP BY 1) a FULL JOIN (SELECT date_trunc('hour', at) AS h, count(*) AS n FROM part
GROUP BY 1) b ON a.h = b.h WHERE b.n > 0

full join of which both sides are asked for | recompute
SELECT a.h, a.n, b.n AS m FROM (SELECT date_trunc('hour', at) AS h, percentile_approx(pieces, 0.5)
AS n FROM sale GROUP BY 1) a FULL JOIN (SELECT date_trunc('hour', at) AS h, count(*) AS n FROM part
GROUP BY 1) b ON a.h = b.h WHERE b.n > 0 AND a.n > 0

dates before timestamps | recompute
SELECT CAST(t AS DATE) AS d, percentile_approx(n, 0.5) AS p FROM (SELECT day AS t, pieces AS n FROM
sale UNION ALL SELECT at, n FROM part) GROUP BY 1

unread with of another table | recompute
WITH old AS (SELECT * FROM part) SELECT date_trunc('hour', at) AS h, percentile_approx(pieces, 0.5)
AS p FROM sale GROUP BY 1

unread with of another table, merged | merge
WITH old AS (SELECT * FROM part) SELECT shop, count(*) AS n FROM sale GROUP BY shop

unit that is none | full
SELECT date_trunc('hours', at) AS h, count(*) AS n FROM sale GROUP BY 1

columns under other names | full
SELECT date_trunc('hour', b) AS h, count(*) AS n FROM part AS p (a, b, c, d, e) GROUP BY 1
""")

CLOCKS = traps("""
hours of a wall clock | merge
SELECT date_trunc('HOUR', at) AS h, count(*) AS n, sum(amount) AS s FROM sale GROUP BY 1

days that are 23, 24, 24.5 and 25 hours | merge
SELECT date_trunc('DAY', at) AS d, count(*) AS n FROM sale GROUP BY 1

days as dates | recompute
SELECT CAST(at AS DATE) AS d, percentile_approx(pieces, 0.5) AS p FROM sale GROUP BY 1

date arithmetic over the change | recompute
SELECT date_add(to_date(at), 1) AS due, percentile_approx(pieces, 0.5) AS p FROM sale GROUP BY 1

a day later is not 24 hours later | append
SELECT at + INTERVAL 1 DAY AS t, at + INTERVAL 24 HOURS AS u, id FROM sale

band of a day over the change | recompute
SELECT s.id, p.id AS part, s.at FROM sale s JOIN part p ON p.at BETWEEN s.at - INTERVAL 1 DAY AND
s.at

band of 24 hours over the change | recompute
SELECT s.id, p.id AS part, s.at FROM sale s JOIN part p ON p.at BETWEEN s.at - INTERVAL 24 HOURS AND
s.at

weeks with a change in them | recompute
SELECT date_trunc('WEEK', at) AS w, percentile_approx(id, 0.5) AS p FROM sale GROUP BY 1

months | merge
SELECT trunc(at, 'MM') AS m, count(*) AS n FROM sale GROUP BY 1

windows do not know summer | merge
SELECT window.start AS s, count(*) AS n FROM sale GROUP BY window(at, '1 day')

buckets of two hours | merge
SELECT time_bucket(INTERVAL 2 HOURS, at) AS b, count(*) AS n FROM sale GROUP BY 1

buckets of days | merge
SELECT time_bucket(INTERVAL 1 DAY, at) AS b, count(*) AS n FROM sale GROUP BY 1

a clock without a zone | recompute
SELECT date_trunc('HOUR', wall) AS h, percentile_approx(pieces, 0.5) AS p FROM sale GROUP BY 1

a clock without a zone, by days | recompute
SELECT CAST(wall AS DATE) AS d, percentile_approx(pieces, 0.5) AS p FROM sale GROUP BY 1

a clock without a zone against one with | recompute
SELECT s.id, p.id AS part, s.at FROM sale s JOIN part p ON s.wall = p.at AND p.at = s.at

a wall clock made an instant | append
SELECT CAST(wall AS TIMESTAMP) AS t, id FROM sale

an instant made a wall clock | recompute
SELECT CAST(at AS TIMESTAMP_NTZ) AS t, percentile_approx(pieces, 0.5) AS p FROM sale GROUP BY 1

dates as instants | recompute
SELECT CAST(day AS TIMESTAMP) AS t, percentile_approx(pieces, 0.5) AS p FROM sale GROUP BY 1

dates compared with instants | recompute
SELECT s.id, s.day, p.id AS part FROM sale s JOIN part p ON CAST(p.at AS DATE) = s.day

hours within the day | merge
SELECT hour(at) AS h, count(*) AS n FROM sale GROUP BY hour(at)

rank in the long hour | recompute
SELECT date_trunc('hour', at) AS h, id, rank() OVER (PARTITION BY date_trunc('hour', at) ORDER BY
id) AS r FROM sale
""")
