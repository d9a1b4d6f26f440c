-- Somebody looks at this one all day: five times the priority, and a lag to be held.
CREATE MATERIALIZED VIEW sales_by_minute
  TBLPROPERTIES ('freshline.priority' = '5', 'freshline.target_lag' = '30 seconds')
  AS SELECT date_trunc('MINUTE', at) AS minute, shop,
            count(*) AS orders, sum(amount) AS amount
     FROM orders GROUP BY 1, 2;

-- A rollup of the rollup.
CREATE MATERIALIZED VIEW sales_by_hour
  TBLPROPERTIES ('freshline.priority' = '2', 'freshline.target_lag' = '5 minutes')
  AS SELECT date_trunc('HOUR', minute) AS hour, shop,
            sum(orders) AS orders, sum(amount) AS amount
     FROM sales_by_minute GROUP BY 1, 2;
