-- TPC-H's queries 15 and 14: the best supplier as a view over a view, and the promotions.

CREATE MATERIALIZED VIEW supplier_revenue
  TBLPROPERTIES ('freshline.priority' = '2', 'freshline.target_lag' = '1 minute')
  AS SELECT s.s_suppkey AS supplier_key, s.s_name AS supplier,
            sum(l.l_extendedprice * (1 - l.l_discount)) AS revenue
     FROM lineitem AS l JOIN delta.`../static/supplier` AS s ON l.l_suppkey = s.s_suppkey
     GROUP BY s.s_suppkey, s.s_name;

CREATE MATERIALIZED VIEW best_supplier
  TBLPROPERTIES ('freshline.priority' = '1')
  AS SELECT supplier_key, supplier, revenue
     FROM supplier_revenue
     WHERE revenue = (SELECT max(revenue) FROM supplier_revenue);

CREATE MATERIALIZED VIEW promotion_share
  TBLPROPERTIES ('freshline.priority' = '1', 'freshline.target_lag' = '2 minutes')
  AS SELECT trunc(l.l_shipdate, 'MONTH') AS month,
            100 * sum(CASE WHEN p.p_type LIKE 'PROMO%'
                           THEN CAST(l.l_extendedprice * (1 - l.l_discount) AS DOUBLE)
                           ELSE CAST(0 AS DOUBLE) END)
                / sum(CAST(l.l_extendedprice * (1 - l.l_discount) AS DOUBLE)) AS promotion_percent
     FROM lineitem AS l JOIN delta.`../static/part` AS p ON l.l_partkey = p.p_partkey
     GROUP BY trunc(l.l_shipdate, 'MONTH');
