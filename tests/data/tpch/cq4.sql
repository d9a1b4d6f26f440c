SELECT count(*) AS totalItems, l_partkey FROM lineitem GROUP BY l_partkey
