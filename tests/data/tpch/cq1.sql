SELECT count(*) AS totalOrders FROM orders
