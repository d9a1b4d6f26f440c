-- Base tables: each reads one feed, row by row; every row of every file exactly once.

CREATE STREAMING TABLE orders
  TBLPROPERTIES ('freshline.time' = 'o_orderdate', 'freshline.priority' = '2')
  AS SELECT o_orderkey, o_custkey, o_orderstatus, o_totalprice, o_orderdate, o_orderpriority
     FROM STREAM orders_feed;

CREATE STREAMING TABLE lineitem
  TBLPROPERTIES ('freshline.time' = 'l_shipdate', 'freshline.priority' = '2')
  AS SELECT l_orderkey, l_linenumber, l_partkey, l_suppkey, l_quantity, l_extendedprice,
            l_discount, l_tax, l_returnflag, l_linestatus, l_shipdate
     FROM STREAM lineitem_feed;
