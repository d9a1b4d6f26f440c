-- Views over a product's events, as dashboards and games have them.

-- name: sessions_by_gaps
with gaps as (
  select user_id, ts, event_id,
         case when ts - lag(ts) over (partition by user_id order by ts, event_id) <= interval 30 minutes then 0 else 1 end as is_new
  from events
), numbered as (
  select *, sum(is_new) over (partition by user_id order by ts, event_id rows between unbounded preceding and current row) as session_no
  from gaps
)
select user_id, session_no, min(ts) as started, max(ts) as ended, count(*) as n
from numbered group by user_id, session_no

-- name: session_windows
select user_id, session_window.start as s, session_window.end as e, count(*) n
from events group by user_id, session_window(ts, '20 minutes')

-- name: funnel
select count(*) as users, count_if(saw is not null) as saw, count_if(carted > saw) as carted, count_if(bought > carted) as bought
from (
  select user_id, min(case when kind = 'view' then ts end) as saw,
         min(case when kind = 'cart' then ts end) as carted,
         min(case when kind = 'buy' then ts end) as bought
  from events group by user_id)

-- name: funnel_by_week
select date_trunc('WEEK', ts) as week, count(distinct case when kind = 'view' then user_id end) as viewers,
       count(distinct case when kind = 'buy' then user_id end) as buyers,
       count(distinct user_id) filter (where kind in ('cart', 'buy') and amount is not null) as any_cart
from events group by date_trunc('WEEK', ts)

-- name: cohorts
with firsts as (select user_id, date_trunc('month', min(ts)) as cohort from events group by user_id),
act as (select distinct user_id, date_trunc('month', ts) as m from events)
select f.cohort, cast(months_between(a.m, f.cohort) as int) as age, count(*) as users
from firsts f join act a on f.user_id <=> a.user_id
group by 1, 2

-- name: retention
select d0.day, count(distinct d0.user_id) as users, count(distinct d1.user_id) as next_day, count(distinct d7.user_id) as in_a_week
from (select distinct day, user_id from events) d0
left join (select distinct day, user_id from events) d1 on d1.user_id = d0.user_id and d1.day = date_add(d0.day, 1)
left join (select distinct day, user_id from events) d7 on d7.user_id = d0.user_id and d7.day between d0.day + 1 and d0.day + 7
group by d0.day

-- name: dau_over_mau
with days as (select day, count(distinct user_id) as dau from events where day is not null group by day)
select day, dau, avg(dau) over (order by day range between interval '6' day preceding and current row) as week_mean,
       max(dau) over (order by day range between 2 preceding and 1 following) as around
from days

-- name: running_total_of_day
select event_id, user_id, ts, sum(amount) over (partition by user_id, cast(ts as date) order by ts, event_id) as so_far,
       row_number() over (partition by user_id, cast(ts as date) order by ts, event_id, amount) as nth
from events where ts is not null

-- name: top_three_per_hour
select * from (
  select date_trunc('hour', ts) as h, user_id, sum(amount) as spent,
         row_number() over (partition by date_trunc('hour', ts) order by sum(amount) desc nulls last, user_id nulls first) as place
  from events group by all)
where place <= 3

-- name: top_users_ever
select user_id, spent, rank() over (order by spent desc nulls last) as r, dense_rank() over (order by spent desc nulls last) as dr
from (select user_id, sum(coalesce(amount, 0)) as spent from events group by user_id)
qualify r <= 4

-- name: pivot_by_case
select date_trunc('hour', ts) as hour,
  sum(case when kind = 'view' then 1 else 0 end) as views,
  sum(case kind when 'cart' then 1 end) as carts,
  sum(if(kind = 'buy', amount, null)) as bought,
  max(case when ok then score end) as best,
  count(case when kind is null then 1 end) as unknown
from events group by hour

-- name: pivot_clause
select * from (select cast(ts as date) as d, kind, amount from events)
pivot (sum(amount) as total, count(*) as n for kind in ('view' as v, 'cart' as c, 'buy' as b))

-- name: unpivot_clause
select h, what, value from (
  select date_trunc('hour', ts) as h, cast(count(*) as bigint) as n, cast(count(distinct user_id) as bigint) as users from events group by 1)
unpivot (value for what in (n as `all`, users as people))

-- name: hourly_percentiles
select date_trunc('hour', ts) as h, percentile(amount, 0.9) as p90, median(amount) as mid,
       percentile_cont(0.25) within group (order by amount desc) as q, percentile_disc(0.5) within group (order by amount) as pd, mode() within group (order by kind) as often
from events group by 1

-- name: user_median
select user_id, median(score) as m, percentile(amount, array(0.1, 0.5)) as p from events group by user_id

-- name: approx_users
select date_trunc('day', ts) as d, approx_count_distinct(user_id) as u from events group by 1

-- name: sketch_users
select kind, hll_sketch_estimate(hll_sketch_agg(user_id)) as u from events group by kind

-- name: newest_state_of_event
select event_id, user_id, ts, kind, amount from (
  select *, row_number() over (partition by event_id order by ts desc nulls last, kind, user_id, amount, score) as rn from events) t
where t.rn = 1

-- name: newest_by_max_by
select event_id, max_by(kind, struct(ts, kind)) as kind, max(struct(ts, amount)).amount as amount, max(ts) as at from events group by event_id

-- name: without_payment
select e.event_id, e.user_id from events e where e.kind = 'buy' and not exists (select * from payments p where p.event_id = e.event_id and p.paid_at >= e.ts)

-- name: not_in_with_nulls
select count(*) as n, min(event_id) as first_id from events where user_id not in (select user_id from payments where user_id is not null and value > 100)

-- name: not_in_null_aware
select event_id, ts from events where user_id not in (select user_id from payments where value > 1000000)

-- name: paid_users
select user_id, count(*) n, sum(amount) s from events left semi join payments using (user_id) group by user_id

-- name: unpaid_hourly
select date_trunc('hour', e.ts) h, count(*) n from events e left anti join payments p on e.event_id = p.event_id and p.paid_at between e.ts and e.ts + interval 2 hours group by 1

-- name: last_event_before_payment
select pay_id, paid_at, event_id, kind from (
  select p.pay_id, p.paid_at, e.event_id, e.kind, row_number() over (partition by p.pay_id, p.paid_at order by e.ts desc, e.event_id desc, e.kind) rn
  from payments p left join events e on e.user_id = p.user_id and e.ts <= p.paid_at and e.ts > p.paid_at - interval 3 hours) where rn = 1

-- name: spent_so_far_scalar
select p.pay_id, p.paid_at, (select sum(e.amount) from events e where e.user_id = p.user_id and e.ts between p.paid_at - interval '1' day and p.paid_at) as before,
  (select count(*) from events e where e.event_id = p.event_id) as n
from payments p

-- name: lateral_last
select p.pay_id, x.n, x.last from payments p, lateral (select count(*) as n, max(e.ts) as last from events e where e.user_id = p.user_id) x

-- name: tags_exploded
select date_trunc('hour', ts) as h, tag, count(*) as n from events lateral view outer explode(tags) t as tag group by h, tag

-- name: tag_positions
select event_id, pos, tag from events, lateral posexplode(tags) as t(pos, tag) where tag <> 'x'

-- name: props_exploded
select k, count(distinct v) as vs, count(*) as n from (select explode_outer(props) as (k, v) from events) group by k

-- name: inline_structs
select day, a, sum(b) as b from events lateral view inline(array(named_struct('a', 1, 'b', amount), named_struct('a', 2, 'b', amount - 1))) x as a, b group by day, a

-- name: by_device
select device.os, device.ver.major as major, count(*) as n, max(device.ver) as newest from events group by device.os, device.ver.major

-- name: by_whole_device
select device, count(*) as n, count(device.ver.minor) as m from events group by device

-- name: by_tags
select tags, count(*) n, sum(size(tags)) s from events group by tags

-- name: json_fields
select get_json_object(payload, '$.a') as a, count(*) as n, sum(cast(get_json_object(payload, '$.b.c') as int)) as c from events group by 1

-- name: json_struct
select j.a, max(j.b.c) as c, count(*) as n from (select from_json(payload, 'a STRING, b STRUCT<c: INT>') as j from events) group by j.a

-- name: variant_fields
select variant_get(v, '$.a', 'string') as a, sum(try_variant_get(v, '$.b.c', 'int')) as c, count(*) n from (select try_parse_json(payload) as v from events) group by 1

-- name: higher_order
select event_id, transform(filter(tags, t -> t is not null and t <> 'x'), (t, i) -> concat(t, i)) as ts2, aggregate(tags, 0, (acc, t) -> acc + length(coalesce(t, ''))) as len, exists(tags, t -> t = 'red') as red, map_filter(props, (k, v) -> v > 'a') as some from events

-- name: hourly_tag_sets
select date_trunc('hour', ts) h, array_sort(collect_set(kind)) as kinds, size(collect_set(user_id)) as users, sort_array(collect_list(event_id)) as ids from events group by 1

-- name: tag_agg_by_user
select user_id, listagg(distinct kind, ',') within group (order by kind) as kinds, array_distinct(flatten(array_agg(tags) filter (where false))) as none from events group by user_id

-- name: attribution
select date_trunc('day', p.paid_at) as d, e.kind, count(distinct p.pay_id) as pays, sum(p.value) as value
from payments p join events e on e.user_id = p.user_id and e.ts >= p.paid_at - interval 1 day and e.ts < p.paid_at
group by 1, 2

-- name: last_day_of_data
select kind, count(*) n from events where ts > (select max(ts) - interval 1 day from events) group by kind

-- name: heat_map
select dayofweek(ts) as dow, hour(ts) as hod, count(*) n, avg(score) as score from events group by dayofweek(ts), hour(ts)

-- name: newest_ten
select * except (payload, props, bin) from events order by ts desc nulls last, event_id desc, kind, user_id, amount, score limit 10

-- name: user_firsts
select user_id, first_value(kind) over w as first_kind, last_value(amount) ignore nulls over (partition by user_id, date_trunc('hour', ts) order by ts, event_id, kind, amount) as last_amount,
  nth_value(kind, 2) over w as second, event_id, ts
from events window w as (partition by user_id, date_trunc('hour', ts) order by ts, event_id, kind, amount rows between unbounded preceding and unbounded following)

-- name: ranks_in_hour
select event_id, ts, ntile(3) over w as third, percent_rank() over w as pr, cume_dist() over w as cd, lead(amount, 1, 0) over w as nxt
from events window w as (partition by window(ts, '1 hour') order by amount, event_id, kind, user_id, score)

-- name: daily_of_hours
select cast(hour as date) as d, sum(views) as views, max(best) as best, count(*) as hours from pivot_by_case group by 1

-- name: users_of_places
select user_id, count(*) as hours, min(place) as best from top_three_per_hour group by user_id
