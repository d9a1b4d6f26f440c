-- Views of other shapes: small groups, a filter over an aggregate, many columns.

CREATE MATERIALIZED VIEW pricing_summary
  TBLPROPERTIES ('freshline.priority' = '4', 'freshline.target_lag' = '30 seconds')
  AS SELECT l_returnflag, l_linestatus,
            sum(l_quantity) AS quantity,
            sum(l_extendedprice) AS base_price,
            sum(l_extendedprice * (1 - l_discount)) AS discounted,
            sum(l_extendedprice * (1 - l_discount) * (1 + l_tax)) AS charged,
            avg(CAST(l_quantity AS DOUBLE)) AS average_quantity,
            avg(CAST(l_discount AS DOUBLE)) AS average_discount,
            count(*) AS items
     FROM lineitem
     GROUP BY l_returnflag, l_linestatus;

CREATE MATERIALIZED VIEW orders_by_priority
  TBLPROPERTIES ('freshline.priority' = '3', 'freshline.target_lag' = '30 seconds')
  AS SELECT trunc(o_orderdate, 'MONTH') AS month, o_orderpriority AS order_priority,
            count(*) AS orders, sum(o_totalprice) AS total
     FROM orders
     GROUP BY trunc(o_orderdate, 'MONTH'), o_orderpriority;

CREATE MATERIALIZED VIEW segment_totals
  TBLPROPERTIES ('freshline.priority' = '1', 'freshline.target_lag' = '2 minutes')
  AS SELECT c.c_mktsegment AS segment, count(*) AS orders,
            count(DISTINCT o.o_custkey) AS customers, sum(o.o_totalprice) AS total
     FROM orders AS o JOIN delta.`../static/customer` AS c ON o.o_custkey = c.c_custkey
     GROUP BY c.c_mktsegment;

CREATE MATERIALIZED VIEW large_orders
  COMMENT 'Orders of more than 250 pieces: somebody rings these customers up'
  TBLPROPERTIES ('freshline.priority' = '8', 'freshline.target_lag' = '15 seconds')
  AS SELECT o.o_orderkey AS order_key, o.o_custkey AS customer_key, o.o_orderdate AS day,
            o.o_totalprice AS total, sum(l.l_quantity) AS quantity
     FROM orders AS o JOIN lineitem AS l ON l.l_orderkey = o.o_orderkey
     GROUP BY o.o_orderkey, o.o_custkey, o.o_orderdate, o.o_totalprice
     HAVING sum(l.l_quantity) > 250;
