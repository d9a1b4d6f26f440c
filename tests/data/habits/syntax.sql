-- The same in the words and corners of SQL that few use.

-- name: cte_shadows_table
with events as (select * from events where kind <> 'view'), payments as (select user_id, count(*) as n from events group by user_id)
select p.user_id, p.n from payments p

-- name: nested_shadow
with a as (with a as (select user_id, amount from events where amount > 1) select user_id, sum(amount) as s from a group by user_id) select * from a where s > 2

-- name: alias_hides_column
select date_trunc('hour', ts) as ts, lower(kind) as kind, count(*) as n from events where ts > timestamp'2024-10-26 12:00:00' group by kind, date_trunc('hour', ts)

-- name: alias_of_key
select lower(kind) as kind, count(*) as n from events group by lower(kind) having kind <> 'view' or kind is null

-- name: lateral_alias
select amount * 2 as a, a + 1 as b, event_id, ts from events where amount > 0

-- name: lateral_alias_groups
select user_id, sum(amount) as s, s * 2 as t, count(*) as n, t / n as m from events group by user_id

-- name: comments
select /* a */ user_id /* b -- c */, -- group by nothing
 count(*) -- ; select
 as n /* + not a hint */ from events -- where false
 where kind /* = 'x' */ = 'buy' group by /* all */ user_id

-- name: hinted
select /*+ broadcast(c), repartition(2) */ c.country, count(*) n from events e join customers c on e.user_id = c.user_id group by c.country

-- name: natural
select * from (select user_id, count(*) n from events group by user_id) natural join (select user_id, country from customers)

-- name: natural_left
select user_id, n, m from (select user_id, count(*) n from events group by user_id) natural left join (select user_id, count(*) m from payments group by user_id)

-- name: inline_values
select v.label, count(e.event_id) as n from values ('view', 'Looked'), ('buy', 'Bought'), ('none', 'Never') as v(kind, label) left join events e on e.kind = v.kind group by v.label

-- name: values_right
select e.ts, e.event_id, v.w from events e left join (values ('view', 1), ('cart', 2)) v(kind, w) using (kind)

-- name: limited_subquery
select user_id, count(*) n from events where user_id in (select user_id from payments group by user_id order by sum(value) desc nulls last, user_id limit 2) group by user_id

-- name: top_of_union
(select user_id, sum(amount) v from events group by user_id) union all (select user_id, sum(value) from payments group by user_id order by 2 desc nulls last, 1 limit 2)

-- name: offset_rows
select kind, count(*) n from events group by kind order by n desc, kind nulls last limit 2 offset 1

-- name: pipes
from events |> where kind in ('buy', 'cart') |> aggregate sum(amount) as s, count(*) as n group by user_id |> where n > 1 |> extend s * 2 as t

-- name: pipes_hours
from events |> extend date_trunc('hour', ts) as h |> aggregate count(*) as n, max(score) as top group by h, kind

-- name: from_first_star
from events select event_id, ts where ok

-- name: ordinals_and_all
select date_trunc('day', ts) d, kind, count(*) n from events group by 2, 1 order by all

-- name: group_by_all
select kind, date_trunc('hour', ts) as h, sum(amount) + count(*) as x, user_id is null as anonymous from events group by all

-- name: having_only
select count(*) as n, sum(amount) as s from events having count(*) > 10

-- name: only_constant_groups
select 'all' as scope, count(*) n, max(ts) as last from events group by 'all'

-- name: group_by_nothing
select count(distinct user_id) as u, count(*) filter (where ok) as o, sum(amount) filter (where not ok) no from events

-- name: like_any
select kind, count(*) n from events where kind like any ('v%', '%y') and user_id not like 'x\_%' escape '\\' or kind rlike '^c' and user_id ilike 'U%' group by kind

-- name: in_with_nulls
select event_id, kind in ('view', null) as a, kind not in ('view', null) as b, coalesce(kind in ('buy'), false) c from events

-- name: case_of_groups
select case when amount < 1 then 'small' when amount < 10 then 'middle' when amount is null then null else 'large' end as size, count(*) n, sum(amount) s from events group by 1

-- name: null_safe
select e.user_id, count(*) n, max(p.value) m from events e join payments p on e.user_id <=> p.user_id group by e.user_id

-- name: null_and_true
select ok, ok and kind = 'buy' as both, count(*) n from events group by ok, ok and kind = 'buy'

-- name: exists_or
select event_id, ts from events e where amount > 5 or exists (select 1 from payments p where p.user_id = e.user_id and p.paid_at between e.ts and e.ts + interval 1 hour)

-- name: exists_in_select
select user_id, n, exists (select 1 from payments p where p.user_id = x.user_id) as paid, user_id in (select user_id from customers where tier > 1) as vip from (select user_id, count(*) n from events group by user_id) x

-- name: scalar_in_group
select user_id, n - (select count(*) from payments p where p.user_id = x.user_id) as off from (select user_id, count(*) n from events group by user_id) x

-- name: double_exists
select user_id, count(*) n from events e where exists (select 1 from payments p where p.user_id = e.user_id and p.value > 3) and not exists (select 1 from customers c where c.user_id = e.user_id and c.tier = 1) group by user_id

-- name: all_of_everything
select max(n) as most, min(n) as least_n, sum(n) as total, count(*) as users from (select user_id, count(*) n from events group by user_id)

-- name: distinct_counts_of_counts
select n, m, count(*) as c from (select user_id, count(*) n, count(distinct kind) m from events group by user_id) group by n, m

-- name: joined_aggregates
select a.kind, a.n, b.top from (select kind, count(*) n from events group by kind) a join (select kind, max(amount) top from events group by kind) b on a.kind = b.kind where a.n > b.top

-- name: rows_with_their_group
select e.event_id, e.ts, g.n from events e join (select user_id, count(*) n from events group by user_id) g on g.user_id = e.user_id

-- name: rows_with_static_twice
select e.event_id, e.ts, c.country, d.country as other from events e left join customers c on c.user_id = e.user_id left join customers d on d.tier = c.tier and d.user_id > c.user_id

-- name: right_join_static
select c.country, e.n from (select user_id, count(*) n from events group by user_id) e right join customers c on c.user_id = e.user_id

-- name: comma_join
select c.country, e.kind, count(*) n from events e, customers c where e.user_id = c.user_id and (c.tier > 1 or e.ok) group by c.country, e.kind

-- name: cross_static
select e.kind, c.tier, count(*) n from events e cross join (select distinct tier from customers) c group by e.kind, c.tier

-- name: left_join_where
select date_trunc('hour', e.ts) h, count(*) n from events e left join payments p on p.event_id = e.event_id where p.pay_id is null group by 1

-- name: left_join_groups
select e.kind, count(p.pay_id) paid, count(*) n, sum(p.value) v, max(e.amount) m from events e left join payments p on p.event_id = e.event_id and p.value > 0 and e.ok group by e.kind

-- name: full_join_rows
select coalesce(e.event_id, p.event_id) id, e.kind, p.value from events e full outer join payments p on p.event_id = e.event_id

-- name: full_join_groups
select coalesce(e.user_id, p.user_id) as u, count(e.event_id) n, count(p.pay_id) m, sum(p.value) v from events e full join payments p on e.user_id = p.user_id and e.event_id = p.event_id group by 1

-- name: casts
select ts::date as d, amount::int as a, count(*) n from events group by ts::date, amount::int

-- name: try_things
select kind, sum(try_cast(get_json_object(payload, '$.b.c') as int)) c, max(try_divide(amount, score)) q, sum(nullif(event_id % 3, 0)) z from events group by kind

-- name: positions
select unix_micros(ts) div 60000000 as minute, count(*) n from events group by 1

-- name: extract_parts
select extract(year from ts) y, extract(week from day) w, date_part('hour', ts) h, count(*) n from events group by all

-- name: differences
select datediff(day, date'2024-10-01') as dd, date_diff(HOUR, timestamp'2024-10-27 00:00:00', ts) hh, count(*) n from events group by 1, 2

-- name: greatest_least
select greatest(e.ts, p.paid_at) as t, least(e.amount, p.value) as v, e.event_id from events e join payments p on p.event_id = e.event_id and p.paid_at between e.ts - interval 1 hour and e.ts + interval 1 hour

-- name: string_keys
select concat_ws('|', user_id, kind) as k, md5(coalesce(user_id, '')) as h, count(*) n from events group by 1, 2

-- name: qualified
select events.kind, count(events.event_id) as n from events group by events.kind order by events.kind

-- name: whole_row
select count(distinct *) as n, count(*) as all_rows from (select user_id, kind from events) e

-- name: star_except
select * except (n) from (select user_id, count(*) n, max(ts) as last from events group by user_id)

-- name: sum_of_window
select user_id, max(running) as most from (select user_id, day, sum(sum(amount)) over (partition by user_id order by day) as running from events group by user_id, day) group by user_id

-- name: qualify_groups
select date_trunc('hour', ts) h, kind, count(*) n from events group by 1, 2 qualify row_number() over (partition by h order by n desc, kind nulls first) = 1

-- name: window_of_window
select event_id, ts, rank() over (partition by date_trunc('hour', ts) order by n, event_id) as r from (select event_id, ts, count(*) over (partition by user_id, date_trunc('hour', ts)) as n from events)

-- name: range_unbounded
select event_id, ts, count(*) over (order by ts range between unbounded preceding and interval 1 hour preceding) as n from events where ts is not null

-- name: range_desc
select event_id, ts, sum(amount) over (order by ts desc range between interval 1 hour preceding and current row) as s from events

-- name: range_two_keys
select event_id, ts, count(*) over (partition by user_id order by date_trunc('hour', ts) range between interval 1 hour preceding and interval 1 hour following) as s from events

-- name: recursive
with recursive t(n) as (select 1 union all select n + 1 from t where n < 3) select t.n, count(e.event_id) c from t left join events e on e.event_id % 3 = t.n - 1 group by t.n

-- name: union_by_places
select kind, cast(count(*) as double) as x from events group by kind union all select status, avg(value) from payments group by status

-- name: union_in_group
select src, date_trunc('hour', at) h, count(*) n from (select 'e' src, ts at, event_id id from events union all select 'p', paid_at, pay_id from payments) group by src, h

-- name: hourly_union_of_groups
select h, sum(n) n from (select date_trunc('hour', ts) h, count(*) n from events group by 1 union all select date_trunc('hour', paid_at), count(*) from payments group by 1) group by h

-- name: contradictory
select kind, count(*) n from events where 1 = 0 group by kind

-- name: constant_true
select user_id, count(*) n from events where true or rand() > 2 group by user_id

-- name: lag_in_hours_of_view
select h, kind, n, x - lag(x) over (partition by kind order by h) as d from (select h, kind, count(*) as n, sum(x) as x from group_by_all group by h, kind)

-- name: over_append
select date_trunc('hour', ts) h, count(*) n, max(b) b from lateral_alias group by 1

-- name: over_append_groups
select event_id % 5 as k, sum(a) a, count(*) n from lateral_alias group by 1

-- name: over_groups
select n > 3 as busy, count(*) c, sum(s) s from lateral_alias_groups group by 1
