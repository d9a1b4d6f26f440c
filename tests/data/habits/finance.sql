-- Views over payments and prices, as finance and shops have them.

-- name: hourly_revenue
select date_trunc('hour', paid_at) as h, currency, sum(value) as total, avg(value) as mean, min(value) as low, max(value) as high, count(*) as n from payments group by 1, 2

-- name: revenue_final | emit=final
select date_trunc('hour', paid_at) as h, sum(value) as total, count(*) as n from payments group by 1

-- name: clicks_final | emit=final
select date_trunc('hour', e.ts) as h, count(*) as n, count(p.pay_id) as paid from events e left join payments p on p.event_id = e.event_id and p.paid_at between e.ts and e.ts + interval 1 hour group by 1

-- name: reconciliation
select coalesce(a.h, b.h) as h, a.n as ours, b.n as theirs, coalesce(a.s, 0) - coalesce(b.s, 0) as off
from (select date_trunc('hour', ts) as h, count(*) n, sum(amount) s from events where kind = 'buy' group by 1) a
full outer join (select date_trunc('hour', paid_at) as h, count(*) n, sum(value) s from payments group by 1) b on a.h = b.h
where a.n is distinct from b.n or a.s is distinct from b.s

-- name: reconciliation_by_user
select user_id, e.n, p.n as m, c.tier, case when e.n is null then 'payments' when p.n is null then 'events' else 'both' end as side
from (select user_id, count(*) n from events group by user_id) e full join (select user_id, count(*) n from payments group by user_id) p using (user_id)
left join customers c using (user_id)

-- name: priced_events
select e.event_id, e.ts, pr.price, e.amount * pr.price as worth
from events e join prices pr on pr.sku = e.kind and e.ts >= pr.valid_from and (e.ts < pr.valid_to or pr.valid_to is null)

-- name: priced_by_sku
select pr.sku, sum(e.amount * pr.price) as worth, count(*) n from events e left join prices pr
on pr.sku = e.kind and e.ts >= pr.valid_from and e.ts < coalesce(pr.valid_to, timestamp'9999-12-31') group by pr.sku

-- name: scd2_of_prices
select sku, valid_from, lead(valid_from) over (partition by sku order by valid_from, price) as next_from, price, price - lag(price) over (partition by sku order by valid_from, price) as change from prices

-- name: current_price
select sku, max_by(price, struct(valid_from, price)) as price, max(valid_from) as since from prices group by sku having max(valid_to) is null or count(*) > 1

-- name: totals_with_subtotals
select currency, kind, grouping_id(currency, kind) as gid, grouping(kind) as g, sum(value) as s, count(*) n
from payments p join events e on p.event_id = e.event_id
group by grouping sets ((currency, kind), (currency), ())

-- name: cube_of_three
select currency, status, user_id, count(*) n, grouping_id() g from payments group by currency, status, user_id with cube

-- name: rollup_of_days
select cast(paid_at as date) d, currency, sum(value) s from payments group by rollup(cast(paid_at as date), currency) having d is not null

-- name: share_of_total
select currency, sum(value) as s, sum(value) / sum(sum(value)) over () as share, round(100 * count(*) / sum(count(*)) over (partition by status), 2) as pct, status from payments group by currency, status

-- name: month_over_month
with m as (select date_trunc('month', paid_at) as month, sum(value) as s from payments group by 1)
select month, s, lag(s) over (order by month) as before, s - lag(s, 1, 0) over (order by month) as growth from m

-- name: hour_over_hour
select h, n, lag(n) over (partition by cast(h as date) order by h) as p from (select date_trunc('hour', paid_at) h, count(*) n from payments group by 1)

-- name: running_balance
select user_id, d, sum(s) over (partition by user_id order by d rows between unbounded preceding and current row) as balance
from (select user_id, cast(paid_at as date) d, sum(value) s from payments group by 1, 2)

-- name: moving_sum_range
select pay_id, user_id, paid_at, sum(value) over (partition by user_id order by paid_at range between interval 90 minutes preceding and interval 1 minute preceding) as s,
 count(*) over (partition by user_id order by paid_at range between interval '0 00:30:00' day to second preceding and interval '0 00:10:00' day to second following) as c from payments

-- name: near_values
select pay_id, paid_at, count(*) over (partition by date_trunc('day', paid_at) order by value range between 1.5 preceding and 0.5 following) as near from payments

-- name: neighbours_in_hour
select pay_id, paid_at, avg(value) over (partition by date_trunc('hour', paid_at) order by paid_at, pay_id, value rows between 2 preceding and 1 following) as around, count(value) over (partition by date_trunc('hour', paid_at)) as all_of_hour from payments

-- name: fraud_pairs
select a.pay_id, b.pay_id as other, a.paid_at from payments a join payments b on a.user_id = b.user_id and a.pay_id < b.pay_id and b.paid_at between a.paid_at - interval 5 minutes and a.paid_at + interval 5 minutes

-- name: fraud_counts
select a.user_id, count(*) pairs, max(abs(a.value - b.value)) as most from payments a join payments b on a.user_id = b.user_id and a.pay_id <> b.pay_id group by a.user_id

-- name: wide_decimals
select currency, sum(value) as s, sum(cast(value as decimal(38,0))) as s0, avg(cast(value as decimal(38,18))) as a, try_sum(cast(value as decimal(38,10)) * 1000) as t, try_avg(value) as ta from payments group by currency

-- name: narrow_decimals
select date_trunc('day', paid_at) as d, sum(cast(value as decimal(3,1))) as s, avg(cast(value as decimal(2,2)) ) as a from payments where abs(value) < 0.9 group by 1

-- name: status_lists
select status, count(distinct user_id, currency) as uc, sum(distinct value) as sd, count(distinct value) cd, avg(distinct value) ad from payments group by status

-- name: statistics
select currency, stddev_samp(value) sd, var_pop(value) vp, corr(value, pay_id) c, covar_samp(value, pay_id) cs, skewness(value) sk, kurtosis(value) ku, regr_slope(value, pay_id) rs, regr_count(value, pay_id) rc from payments group by currency

-- name: bits
select user_id, bit_and(pay_id) ba, bit_or(pay_id) bo, bit_xor(pay_id) bx, bool_and(value > 0) allp, bool_or(value > 5) anyp, every(value is not null) ev, some(status = 'ok') so from payments group by user_id

-- name: union_of_moneys
select cast(at as date) as d, sum(v) as s, count(*) n from (
  select ts as at, amount as v from events where kind = 'buy'
  union all select paid_at, value from payments
  union all select valid_from, price from prices) group by 1

-- name: except_all_users
select user_id from events except all select user_id from payments

-- name: intersect_all_users
select user_id, day from events intersect all select user_id, cast(paid_at as date) from payments

-- name: minus_users
select user_id from events minus select user_id from payments

-- name: union_distinct_users
select user_id, 'e' as src from events where ok union select user_id, 'p' from payments union distinct select user_id, 'c' from customers

-- name: customers_with_nothing
select c.user_id, c.country, count(p.pay_id) as n, coalesce(sum(p.value), 0) as s from customers c left outer join payments p on c.user_id = p.user_id group by all

-- name: countries
select c.country, count(distinct p.user_id) as payers, sum(p.value) filter (where p.status = 'ok') as ok, max(p.paid_at) as last
from payments p left join customers c on c.user_id = p.user_id and c.tier > 1 group by c.country

-- name: calendar_days
select cal.d, cal.wk, count(p.pay_id) as n, sum(p.value) as s from cal left join payments p on cast(p.paid_at as date) = cal.d group by cal.d, cal.wk

-- name: calendar_weeks
select cal.wk, count(*) as n from payments p join cal on cal.d = to_date(p.paid_at) group by cal.wk

-- name: above_average
select user_id, sum(value) as s from payments group by user_id having sum(value) > (select avg(s) from (select sum(value) as s from payments group by user_id))

-- name: best_hour_of_day
select d, max_by(h, struct(s, h)) as best, max(s) as s from (select cast(paid_at as date) as d, date_trunc('hour', paid_at) as h, sum(value) as s from payments group by 1, 2) group by d

-- name: deduplicated_sum
select currency, sum(value) as s, count(*) n from (select distinct pay_id, currency, value from payments) group by currency

-- name: newest_sum
select currency, sum(value) s from (select currency, value, row_number() over (partition by pay_id order by paid_at desc nulls last, value desc, currency) rn from payments) where rn = 1 group by currency

-- name: late_payments
select e.user_id, count(*) as n, avg(timestampdiff(MINUTE, e.ts, p.paid_at)) as minutes, max(p.paid_at - e.ts) > interval 1 hour as slow from events e join payments p on p.event_id = e.event_id group by e.user_id

-- name: three_outer
select user_id, a.n n1, b.n n2, d.n n3 from (select user_id, count(*) n from events group by user_id) a
full join (select user_id, count(*) n from payments group by user_id) b using (user_id)
full join (select user_id, sum(tier) n from customers group by user_id) d using (user_id)

-- name: payments_with_hour_total
select p.pay_id, p.paid_at, p.value / h.s as share from payments p join (select date_trunc('hour', paid_at) as h, sum(value) as s from payments group by 1) h on h.h = date_trunc('hour', p.paid_at)

-- name: daily_from_hourly
select cast(h as date) as d, currency, sum(total) as total, sum(n) as n, max(high) as high from hourly_revenue group by 1, 2

-- name: currencies_of_hours
select currency, count(*) as hours, sum(n) as n, max(total) as best from hourly_revenue group by currency
