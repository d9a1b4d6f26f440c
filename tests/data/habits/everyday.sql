-- Everyday SQL that the other files do not hold: pipes, names, keys of every type, calendars.

-- name: pipe_top_countries
from events as e
|> left join customers as c using (user_id)
|> where e.amount is not null
|> aggregate sum(amount) as s, count(distinct kind) as k group by c.country
|> order by s desc nulls last, country
|> limit 3

-- name: pipe_sets
from events |> select user_id, kind
|> union all (from payments |> select user_id, status)
|> aggregate count(*) as n group by user_id, kind
|> set n = n * 10 |> drop kind |> as x |> where x.n > 10

-- name: pipe_windows
from payments
|> extend row_number() over (partition by user_id order by paid_at, pay_id, value, status, currency, event_id) as rn
|> where rn <= 2
|> select pay_id, user_id, rn

-- name: pipe_pivot
from events |> select day, kind, amount |> pivot (sum(amount) as s for kind in ('view' as v, 'buy' as b))

-- name: pipe_hours_joined
from events |> aggregate count(*) as n group by date_trunc('hour', ts) as h
|> join (from payments |> aggregate sum(value) as v group by date_trunc('hour', paid_at) as h) as p using (h)
|> extend v / n as per_event

-- name: table_word
table payments

-- name: count_of_table_word
select currency, count(*) as n from (table payments) group by currency

-- name: from_first_groups
from payments p select p.currency, max(p.value) as m, count(*) as n where p.status = 'ok' group by p.currency having count(*) > 1

-- name: named_spans
select v.label, count(e.event_id) as n, sum(e.amount) as s from (values
 (timestamp'2024-10-26 00:00:00', timestamp'2024-10-27 02:00:00', 'early'),
 (timestamp'2024-10-27 02:00:00', timestamp'2024-10-27 03:00:00', 'twice'),
 (timestamp'2024-10-27 03:00:00', timestamp'2024-11-30 00:00:00', 'late')) as v(f, t, label)
left join events e on e.ts >= v.f and e.ts < v.t group by v.label

-- name: group_all_having
select day, kind, count(*) as n, sum(amount) as s from events group by all having n > 1 and s is not null

-- name: alias_chain
select event_id, amount + 1 as a, a * 2 as b, b - a as amount, amount as again, ts from events

-- name: alias_chain_groups
select upper(kind) as k, count(*) as c, c > 3 as many, k || '!' as loud from events group by upper(kind)

-- name: qualify_named_window
select user_id, day, s, rank() over w as r from (select user_id, day, sum(amount) as s from events group by user_id, day)
window w as (partition by day order by s desc nulls last, user_id nulls first) qualify rank() over w <= 2

-- name: qualify_full_hours
select event_id, ts, kind, amount from events qualify count(*) over (partition by date_trunc('hour', ts)) > 2

-- name: qualify_alias
select pay_id, paid_at, value, sum(value) over (partition by currency, cast(paid_at as date)) as day_total from payments where status = 'ok' qualify day_total > 2 and value <= day_total

-- name: unpivot_nulls
select user_id, what, count(*) as n, sum(v) as s from (select user_id, amount as a, cast(event_id as decimal(18,4)) as e from events) unpivot include nulls (v for what in (a, e)) group by user_id, what

-- name: unpivot_pairs
select event_id, ts, side, n, t from (select event_id, ts, event_id % 3 as n1, kind as t1, event_id % 7 as n2, user_id as t2 from events) unpivot ((n, t) for side in ((n1, t1) as `left`, (n2, t2) as `right`))

-- name: outer_posexplode
select user_id, p, t, count(*) as n from events lateral view outer posexplode(tags) x as p, t group by user_id, p, t

-- name: two_lateral_views
select date_trunc('hour', ts) as h, t, k, count(*) as n from events lateral view explode(tags) a as t lateral view outer explode(map_keys(props)) b as k group by 1, 2, 3

-- name: stacked
select k, v, count(*) as n from events lateral view stack(2, 'amount', cast(amount as string), 'kind', kind) s as k, v group by k, v

-- name: json_tuples
select a, count(*) as n from events lateral view json_tuple(payload, 'a', 'b') t as a, b group by a

-- name: numbers_left
select r.id, count(e.event_id) as n, max(e.ts) as last from range(0, 4) r left join events e on e.event_id % 4 = r.id group by r.id

-- name: lateral_function
select e.event_id, e.ts, t.col as tag from events e, lateral explode(e.tags) t

-- name: left_lateral_function
select e.user_id, t.tag, count(*) as n from events e left join lateral explode(e.tags) as t(tag) on t.tag <> 'x' group by e.user_id, t.tag

-- name: stars_without
select e.* except (payload, props, bin, device, tags, wall), c.* except (user_id) from events e join customers c on c.user_id = e.user_id

-- name: struct_star
select event_id, ts, device.*, device.ver.* from events where device is not null

-- name: recursive_hours
with recursive h(at) as (select timestamp'2024-10-26 22:00:00' union all select at + interval 1 hour from h where at < timestamp'2024-10-27 06:00:00')
select h.at, count(e.event_id) as n, sum(e.amount) as s from h left join events e on e.ts >= h.at and e.ts < h.at + interval 1 hour group by h.at

-- name: recursive_chain
with recursive chain(id, depth) as (select distinct pay_id, 0 from payments where pay_id < 4 union all
 select p.event_id, c.depth + 1 from chain c join (select distinct pay_id, event_id from payments where event_id is not null) p on p.pay_id = c.id where c.depth < 3)
select id, depth, count(*) as n from chain group by id, depth

-- name: who_and_where
select kind, current_user() as u, current_timezone() as z, count(*) as n from events group by kind

-- name: before_now
select date_trunc('hour', ts) as h, count(*) as n from events where ts < current_timestamp() and day >= current_date() - interval 100 years group by 1

-- name: dst_days
select cast(ts as date) as d, min(ts + interval 1 day) as a, max(ts + interval 24 hours) as b, count(*) as n from events group by 1

-- name: dst_local_hours
select date_trunc('day', ts) as d, hour(ts) as h, count(*) as n from events group by 1, 2

-- name: dst_pairs
select e.event_id, e.ts, p.pay_id from events e join payments p on p.user_id = e.user_id and p.paid_at >= e.ts + interval '1' day - interval 1 day and p.paid_at < e.ts + interval '1 02' day to hour

-- name: days_in_utc
select to_date(to_utc_timestamp(date_trunc('hour', ts), 'Europe/Berlin')) as d, count(*) as n from events group by 1

-- name: month_ends
select last_day(add_months(day, 1)) as d, count(*) as n, min(add_months(day, -8)) as m, max(date_add(last_day(day), 1)) as f from events group by 1

-- name: month_end_pairs
select e.event_id, e.day, p.pay_id from events e join payments p on p.event_id = e.event_id and cast(p.paid_at as date) between add_months(e.day, -1) and last_day(e.day)

-- name: made_months
select make_date(year(ts), month(ts), 1) as m, next_day(day, 'MON') as monday, count(*) as n from events group by 1, 2

-- name: windows_of_windows
select window(window_time(w), '1 hour').start as h, sum(n) as n, max(n) as most from (select window(ts, '10 minutes') as w, count(*) as n from events group by 1) group by 1

-- name: sessions_of_two_gaps
select user_id, session_window(ts, case when kind = 'view' then '10 minutes' else '40 minutes' end).start as s, count(*) as n from events group by user_id, session_window(ts, case when kind = 'view' then '10 minutes' else '40 minutes' end)

-- name: distinct_pairs
select date_trunc('hour', ts) as h, count(distinct user_id, kind) as a, count(distinct struct(user_id, kind)) as b, count(distinct user_id || kind) as c from events group by 1

-- name: distinct_pairs_users
select user_id, count(distinct kind, ok) as a, count(distinct kind) as b, sum(distinct event_id % 5) as c, count(distinct case when ok then day end) as d from events group by user_id

-- name: filtered
select kind, sum(amount) filter (where ok and amount > 0) as a, count(*) filter (where user_id in ('u1', 'u1', 'u2', 'u1')) as b, max(ts) filter (where not ok) as c, avg(score) filter (where not isnan(score)) as d from events group by kind

-- name: within_groups
select user_id, listagg(kind, '>') within group (order by ts, event_id, kind) as path, percentile_cont(0.5) within group (order by score) as m, string_agg(distinct kind) within group (order by kind desc) as ks from events group by user_id

-- name: cubes
select day, kind, grouping(day) as gd, grouping_id() as gi, grouping_id(day, kind) as gj, count(*) as n, sum(amount) as s from events group by cube(day, kind)

-- name: mixed_sets
select kind, day, ok, count(*) as n from events group by kind, grouping sets ((day), (ok), ())

-- name: rollup_without_totals
select day, ok, count(*) as n from events group by rollup(day, ok) having grouping(ok) = 0 or count(*) > 2

-- name: hours_of_money
select date_trunc('hour', paid_at) as h, currency, sum(value) as total, count(*) as n, max(value) as top from payments group by 1, 2

-- name: days_of_money
select cast(h as date) as d, sum(total) as total, sum(n) as n, count(distinct currency) as currencies from hours_of_money group by 1

-- name: extremes_of_days
select max(total) as best, min(n) as least_n, count(*) as days, max_by(d, struct(n, d)) as busiest from days_of_money

-- name: hours_in_their_day
select h.h, h.currency, h.total, d.total as of_day, h.n / d.n as share from hours_of_money h join days_of_money d on d.d = cast(h.h as date)

-- name: null_safe_rows
select e.event_id, e.ts, c.country, c.tier from events e left join customers c on e.user_id <=> c.user_id

-- name: null_safe_pairs
select e.event_id, p.pay_id, e.ts from events e join payments p on p.user_id <=> e.user_id and p.event_id <=> e.event_id and p.paid_at between e.ts - interval 3 hours and e.ts + interval 3 hours

-- name: null_safe_groups
select a.user_id, a.n, b.m from (select user_id, count(*) as n from events group by 1) a full join (select user_id, count(*) as m from payments group by 1) b on a.user_id <=> b.user_id

-- name: text_equals_number
select t.kind, count(*) as n from (select cast(event_id as string) as eid, kind from events) t join payments p on t.eid = p.event_id group by t.kind

-- name: using_text_and_number
select event_id, n, m from (select cast(event_id as string) as event_id, count(*) as n from events group by 1) full join (select event_id, count(*) as m from payments group by 1) using (event_id)

-- name: double_equals_decimal
select e.kind, count(*) as n, max(i.dev) as d from events e join iot i on i.temp = e.amount group by e.kind

-- name: date_equals_moment
select e.day, count(*) as n from events e join payments p on e.day = p.paid_at group by e.day

-- name: wall_equals_moment
select i.dev, count(*) as n from iot i join events e on i.wall = e.ts group by i.dev

-- name: padded
select cast(kind as char(6)) as k, count(*) as n, max(length(cast(kind as char(6)))) as l from events where cast(kind as char(6)) = 'buy   ' or cast(kind as char(6)) like 'c%' group by 1

-- name: dotted_struct
with d as (select device as `d.x`, ts from events) select `d.x`.os as `o.s`, count(*) as n, max(ts) as `last.ts` from d group by `d.x`.os

-- name: mixed_case
SELECT E.`KIND`, COUNT(*) AS N, Max(`E`.Ts) AS LAST FROM `EVENTS` E GROUP BY e.`kInD`

-- name: unicode_names
select concat(user_id, '→', kind) as `ключ`, count(*) as `数`, max(ts) as `größtes` from events group by 1

-- name: in_duplicates
select kind, event_id in (1, 1, 2.0, '3') as few, count(*) as n from events where kind in ('view', 'view', 'VIEW', null) or event_id in (1, 1, 2, 3) group by 1, 2

-- name: struct_keys
select struct(user_id, kind) as k, count(*) as n, sum(amount) as s from events group by struct(user_id, kind)

-- name: array_keys
select array(user_id, kind) as k, array(score, 0.0) as z, count(*) as n from events group by 1, 2

-- name: inner_struct_keys
select device.ver as v, date_trunc('hour', ts) as h, count(*) as n from events group by all

-- name: map_keys_of_groups
select props, count(*) as n, max(event_id) as m from events group by props

-- name: map_and_hour
select date_trunc('hour', ts) as h, props, count(*) as n from events group by 1, 2

-- name: large_sums
select kind, try_sum(cast(event_id + 1 as bigint) * 20000000000000000) as t, try_sum(cast(4e37 as decimal(38,0))) as d, count(*) as n from events group by kind

-- name: signed_zeros
select temp, hum, -temp as minus, count(*) as n, count(distinct -temp) as c from iot group by temp, hum

-- name: zeros_in_hours
select date_trunc('hour', at) as h, temp * 0 as z, count(*) as n, sum(`order`) as s from iot group by 1, 2

-- name: zeros_beside
select dev, at, temp, count(*) over (partition by temp, date_trunc('hour', at)) as n from iot

-- name: zeros_in_arrays
select array(temp) as t, named_struct('h', hum) as h, count(*) as n from iot group by 1, 2

-- name: zeros_distinct
select count(distinct temp) as a, count(distinct struct(temp, hum)) as b, count(distinct array(temp)) as c, max(temp) as hi, min(hum) as lo from iot

-- name: nan_conditions
select dev, count_if(temp > 20) as hot, count_if(temp = cast('NaN' as double)) as nans, max(greatest(temp, hum)) as g, count(*) filter (where temp in (0.0, 1.5)) as z from iot group by dev having max(temp) >= 0 or max(temp) is null

-- name: all_in_order
select event_id, ts, kind from events order by ts, event_id, kind limit 100000

-- name: limit_of_all
select event_id, ts, amount from events limit 1000000

-- name: kind
select kind, count(*) as n from events group by kind

-- name: kind_of_kind
select kind.kind as k, kind.n, events.n as m from kind left join (select kind, max(event_id) as n from events group by kind) as events on events.kind = kind.kind

-- name: kind_hidden
with kind as (select user_id as kind, count(*) as n from events group by 1) select kind, n from kind where n > 1

-- name: first_of_each
select p.user_id, x.event_id, x.ts from (select distinct user_id from payments) p, lateral (select e.event_id, e.ts from events e where e.user_id = p.user_id order by e.ts, e.event_id limit 1) x

-- name: pairs_in
select event_id, ts, user_id from events where (user_id, event_id) in (select user_id, event_id from payments)

-- name: pairs_not_in
select kind, count(*) as n from events where (user_id, event_id) not in (select user_id, event_id from payments where user_id is not null and event_id is not null) group by kind

-- name: distinct_of_windows
select distinct user_id, max(ts) over (partition by user_id) as last, count(*) over (partition by user_id) as n from events

-- name: shared_cte
with h as (select date_trunc('hour', ts) as h, kind, count(*) as n from events group by 1, 2) select a.h, a.n as views, b.n as buys from h a left join h b on b.h = a.h and b.kind = 'buy' where a.kind = 'view'

-- name: hour_before
with h as (select date_trunc('hour', ts) as h, count(*) as n from events group by 1) select a.h, a.n, b.n as before, a.n - coalesce(b.n, 0) as more from h a left join h b on b.h = a.h - interval 1 hour

-- name: using_twice
select user_id, e.user_id as eu, p.m, c.country from (select user_id, count(*) as n from events group by 1) e left join (select user_id, count(*) as m from payments group by 1) p using (user_id) full join customers c using (user_id)

-- name: except_in_from
select c.country, count(*) as n from (select user_id from events except select user_id from payments where status = 'void') x left join customers c on c.user_id = x.user_id group by c.country

-- name: union_limited_arm
select user_id, n from (select user_id, count(*) as n from events group by user_id order by n desc, user_id limit 3) union select user_id, tier from customers

-- name: sorted_within
select kind, sum(amount) as s from (select kind, amount from events order by ts desc) group by kind

-- name: first_places
select h, user_id, n from (select date_trunc('hour', ts) as h, user_id, count(*) as n, rank() over (partition by date_trunc('hour', ts) order by count(*) desc) as r from events group by 1, 2) where r = 1

-- name: first_places_ever
select user_id, n from (select user_id, count(*) as n, dense_rank() over (order by count(*) desc) as r from events group by 1) where r <= 2

-- name: spans
select user_id, cast(max(ts) - min(ts) as interval second) > interval '600' second as long, timestampdiff(SECOND, min(ts), max(ts)) as s from events group by user_id

-- name: semi_null_safe
select event_id, ts from events e left semi join payments p on p.user_id <=> e.user_id and p.event_id = e.event_id

-- name: having_scalar
select kind, sum(amount) as s from events group by kind having count(*) >= (select count(*) / 10 from events)

-- name: share_of_day
select event_id, ts, amount, amount / nullif(sum(amount) over (partition by cast(ts as date)), 0) as share from events where amount is not null

-- name: coalesced_keys
select coalesce(e.user_id, p.user_id, 'nobody') as who, count(*) as n, sum(p.value) as v from events e full join payments p on e.event_id = p.event_id and e.user_id = p.user_id group by 1

-- name: nullif_keys
select nullif(user_id, '') as u, nvl2(kind, 'known', 'unknown') as k, count(*) as n from events group by nullif(user_id, ''), nvl2(kind, 'known', 'unknown')

-- name: rows_and_static_union
select ts, user_id, 'e' as src from events union all select paid_at, user_id, 'p' from payments union all select null, user_id, 'c' from customers

-- name: static_and_later
select cal.d, count(distinct e.user_id) as users, sum(e.amount) as s, count(distinct p.pay_id) as pays from cal left join events e on e.day = cal.d left join payments p on cast(p.paid_at as date) = cal.d and p.event_id = e.event_id group by cal.d

-- name: try_chain
select try_to_number(get_json_object(payload, '$.b.c'), '9') as c, try_element_at(tags, 1) as first_tag, try_to_timestamp(payload) is null as none, count(*) as n from events group by all

-- name: over_alias_chain
select user_id is null as anonymous, max(b) as b from (select event_id % 4 as user_id, b from alias_chain) group by 1

-- name: over_rows_of_windows
select date_trunc('hour', at) as h, sum(n) as s, count(*) as c from zeros_beside group by 1

-- name: over_pairs
select date_trunc('day', ts) as d, count(distinct pay_id) as n from null_safe_pairs group by 1
