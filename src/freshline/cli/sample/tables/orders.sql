-- One row per order, as they come. Rows that do not fit the feed's schema go to
-- orders__rejected, with the reason, the file and the line.
CREATE STREAMING TABLE orders
  TBLPROPERTIES ('freshline.time' = 'at', 'freshline.target_lag' = 'DOWNSTREAM')
  AS SELECT id, at, shop, product, quantity, quantity * price AS amount
     FROM STREAM orders_feed;
