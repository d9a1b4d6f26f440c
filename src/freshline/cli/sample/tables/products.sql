CREATE MATERIALIZED VIEW best_products
  TBLPROPERTIES ('freshline.target_lag' = '1 hour')
  AS SELECT product, sum(quantity) AS quantity, sum(amount) AS amount,
            rank() OVER (ORDER BY sum(amount) DESC) AS place
     FROM orders GROUP BY product;
