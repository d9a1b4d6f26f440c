SELECT count(*) AS totalItems, l_suppkey FROM lineitem GROUP BY l_suppkey
