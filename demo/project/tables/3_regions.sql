-- Joins with static Delta tables, which another program owns.

CREATE MATERIALIZED VIEW nation_revenue
  TBLPROPERTIES ('freshline.priority' = '6', 'freshline.target_lag' = '20 seconds')
  AS SELECT n.n_nationkey AS nation_key, n.n_name AS nation, trunc(o.o_orderdate, 'MONTH') AS month,
            count(*) AS items, sum(l.l_extendedprice * (1 - l.l_discount)) AS revenue
     FROM lineitem AS l
     JOIN orders AS o ON l.l_orderkey = o.o_orderkey
     JOIN delta.`../static/customer` AS c ON o.o_custkey = c.c_custkey
     JOIN delta.`../static/nation` AS n ON c.c_nationkey = n.n_nationkey
     GROUP BY n.n_nationkey, n.n_name, trunc(o.o_orderdate, 'MONTH');

CREATE MATERIALIZED VIEW region_revenue
  TBLPROPERTIES ('freshline.priority' = '3', 'freshline.target_lag' = '1 minute')
  AS SELECT r.r_name AS region, v.month, sum(v.items) AS items, sum(v.revenue) AS revenue
     FROM nation_revenue AS v
     JOIN delta.`../static/nation` AS n ON v.nation_key = n.n_nationkey
     JOIN delta.`../static/region` AS r ON n.n_regionkey = r.r_regionkey
     GROUP BY r.r_name, v.month;
