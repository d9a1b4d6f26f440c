-- Revenue by day, and its rollups: each level is a view over the level below.

CREATE MATERIALIZED VIEW revenue_by_day
  COMMENT 'What the dashboard on the wall shows'
  TBLPROPERTIES ('freshline.time' = 'day', 'freshline.priority' = '10',
                 'freshline.target_lag' = '10 seconds')
  AS SELECT o.o_orderdate AS day,
            count(*) AS items,
            sum(l.l_extendedprice * (1 - l.l_discount)) AS revenue
     FROM lineitem AS l JOIN orders AS o ON l.l_orderkey = o.o_orderkey
     GROUP BY o.o_orderdate;

CREATE MATERIALIZED VIEW revenue_by_month
  TBLPROPERTIES ('freshline.priority' = '5', 'freshline.target_lag' = '20 seconds')
  AS SELECT trunc(day, 'MONTH') AS month, sum(items) AS items, sum(revenue) AS revenue
     FROM revenue_by_day
     GROUP BY trunc(day, 'MONTH');

CREATE MATERIALIZED VIEW revenue_by_year
  TBLPROPERTIES ('freshline.priority' = '2', 'freshline.target_lag' = '1 minute')
  AS SELECT year(month) AS year, sum(items) AS items, sum(revenue) AS revenue
     FROM revenue_by_month
     GROUP BY year(month);
