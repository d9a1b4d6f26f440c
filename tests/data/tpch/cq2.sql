SELECT count(*) AS totalOrders, o_orderpriority FROM orders GROUP BY o_orderpriority
