-- Views over the readings of machines: odd names, odd numbers, clocks.

-- name: minutes
select date_trunc('MINUTE', at) as m, dev, avg(temp) as t, min(hum) as h0, max(hum) as h1, count(temp) as n from iot group by 1, 2

-- name: five_minutes
select window.start as w, window.end as e, dev, max(temp) as t from iot group by dev, window(at, '5 minutes')

-- name: hopping_with_offset
select window(at, '1 hour', '20 minutes', '7 minutes').start as w, count(*) as n from iot group by 1

-- name: floor_buckets
select timestamp_seconds(floor(unix_timestamp(at) / 300) * 300) as b, count(*) n, sum(temp) s from iot group by 1

-- name: text_buckets
select date_format(at, 'yyyy-MM-dd HH') as h, count(*) n from iot group by date_format(at, 'yyyy-MM-dd HH')

-- name: text_to_time
select to_timestamp(date_format(at, 'yyyy-MM-dd HH:00:00')) as h, count(*) n from iot group by 1

-- name: tokyo_days
select to_date(from_utc_timestamp(at, 'Asia/Tokyo')) as d, count(*) n, max(temp) t from iot group by 1

-- name: new_york_hours
select date_trunc('hour', convert_timezone('America/New_York', cast(at as timestamp_ntz))) as h, count(*) n from iot group by 1

-- name: wall_days
select date_trunc('day', wall) as d, count(*) n, min(wall) as w0 from iot group by 1

-- name: quarters
select date_trunc('quarter', at) q, year(at) y, weekofyear(at) w, count(*) n from iot group by 1, 2, 3

-- name: month_back
select add_months(cast(at as date), -1) as d, count(*) n from iot group by 1

-- name: months_later
select at + interval 1 month as due, dev, temp from iot where at is not null

-- name: month_trunc_shift
select trunc(at + interval '1' month, 'MM') as m, count(*) as n from iot group by 1

-- name: odd_names
select dev as `größe`, `order` as `Select`, sum(`temp.c`) as `from`, count(*) as `group` from iot group by dev, `order`

-- name: odd_hours
select date_trunc('hour', at) as `stündlich.h`, `order`, max(`temp.c`) as `a.b` from iot group by 1, 2

-- name: shouting
SELECT DATE_TRUNC('HOUR', AT) AS `H`, DEV, SUM(TEMP) AS T, COUNT(1) AS N FROM IOT GROUP BY DATE_TRUNC('HOUR', AT), DEV

-- name: by_double
select temp, count(*) n, sum(hum) s from iot group by temp

-- name: distinct_doubles
select distinct temp, hum from iot

-- name: odd_doubles
select dev, sum(temp) s, avg(temp) a, min(temp) lo, max(temp) hi, count(distinct temp) c, stddev(temp) sd from iot group by dev

-- name: odd_doubles_hourly
select date_trunc('hour', at) h, min(temp) lo, max(temp) hi, max(hum) hh, count_if(isnan(temp)) nans, max_by(dev, struct(temp, dev)) dv from iot group by 1

-- name: zero_keys
select a.dev, b.dev as other, count(*) n from iot a join iot b on a.temp = b.temp and a.dev < b.dev group by 1, 2

-- name: binary_keys
select bin, count(*) n, max(hex(bin)) as x, min(bin) as least_bin from events group by bin

-- name: lowered
select cast(upper(k) as string) as k, n from (select kind collate utf8_lcase as k, count(*) as n from events group by 1)

-- name: collated_distinct
select dev, count(distinct note collate utf8_lcase) as n, count_if(note collate unicode_ci = 'OK') as oks from iot group by dev

-- name: collated_join
select i.dev, count(*) as n from iot i join customers c on c.country collate utf8_lcase = i.note group by i.dev

-- name: collated_hours
select date_trunc('hour', at) h, count(distinct note collate utf8_lcase) n from iot where note collate utf8_lcase in ('ok', 'Bad') group by 1

-- name: chars
select cast(note as char(4)) as c, cast(note as varchar(3)) as v, count(*) n from iot where length(note) <= 3 group by 1, 2

-- name: device_struct_null
select named_struct('d', dev, 'o', `order`) as k, count(*) n from iot group by named_struct('d', dev, 'o', `order`)

-- name: map_out
select dev, map('n', count(*), 'm', count(temp)) as m, struct(max(at) as last, min(at) as first) as span from iot group by dev

-- name: map_group
select str_to_map(coalesce(note, 'a:1')) as m, dev from iot

-- name: gaps
select dev, at, lag(at) over (partition by dev order by at, temp, hum) as before, temp - lag(temp) over (partition by dev order by at, temp, hum) as d from iot

-- name: gap_hours
select dev, h from (select dev, date_trunc('hour', at) h, count(*) n from iot group by 1, 2) x where not exists (select 1 from iot y where y.dev = x.dev and y.at >= x.h + interval 1 hour and y.at < x.h + interval 2 hours)

-- name: carried_forward
select dev, at, coalesce(temp, last(temp, true) over (partition by dev, cast(at as date) order by at, hum, temp rows between unbounded preceding and 1 preceding)) as t from iot

-- name: smooth
select dev, at, avg(temp) over (partition by dev order by at range between interval '10' minute preceding and interval '10' minute following) as t from iot where not isnan(temp)

-- name: unordered_window
select dev, at, temp, count(*) over (partition by dev, date_trunc('hour', at)) as n, max(hum) over (partition by date_trunc('hour', at), dev rows between unbounded preceding and unbounded following) m from iot

-- name: alarms_islands
select dev, min(at) as started, max(at) as ended, count(*) n from (
 select dev, at, temp, row_number() over (partition by dev order by at, hum, temp) - row_number() over (partition by dev, temp > 20 order by at, hum, temp) as island, temp > 20 as hot from iot) group by dev, island, hot

-- name: hourly_matrix
select h.h, d.dev, coalesce(x.n, 0) as n from (select distinct date_trunc('hour', at) as h from iot) h cross join (select distinct dev from iot) d left join (select date_trunc('hour', at) as h, dev, count(*) n from iot group by 1, 2) x on x.h <=> h.h and x.dev <=> d.dev

-- name: machine_events
select i.dev, e.kind, count(*) n from iot i join events e on e.ts between i.at - interval 30 seconds and i.at + interval 30 seconds group by all

-- name: machine_events_rows
select i.at, i.dev, e.event_id from iot i left join events e on e.ts >= i.at and e.ts < i.at + interval 2 minutes and e.ok

-- name: date_keys
select x.d, count(*) n from (select to_date(at) as d, dev from iot) x join events e on e.day = x.d group by x.d

-- name: ntz_join
select cast(i.wall as date) as d, count(*) as n from iot i join events e on i.wall = e.wall group by 1

-- name: histogram
select width_bucket(temp, 0, 40, 8) as b, count(*) as n from iot where temp between -5 and 45 group by 1

-- name: stacked
select at, what, v from iot lateral view stack(2, 'temp', temp, 'hum', cast(hum as double)) s as what, v where v is not null

-- name: generated_minutes
select m, count(*) n from iot lateral view explode(sequence(date_trunc('minute', at), date_trunc('minute', at) + interval 2 minutes, interval 1 minute)) x as m where at is not null group by m

-- name: minutes_final | emit=final
select date_trunc('MINUTE', at) as m, dev, count(*) as n from iot group by 1, 2

-- name: hours_of_minutes
select date_trunc('hour', m) as h, dev, sum(n) as n, max(t) as t from minutes group by 1, 2

-- name: devices_of_minutes
select dev, count(*) as minutes, sum(n) as n, count(distinct cast(m as date)) as days from minutes group by dev

-- name: rows_of_minutes
select m, dev, t * 9 / 5 + 32 as f from minutes where n > 1
