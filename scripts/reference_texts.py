"""What the keys of freshline.yml mean, for docs/reference/project-files.md.

The keys themselves are read from the code; one that is not described here fails the guard.
"""

from __future__ import annotations

NOTE = "<!-- Written by `make reference` from the code; change the code, not this page. -->"
"""What stands at the top of each page."""

SECTIONS = {
    ("load", "collect"): "freshline.yml",
    ("feeds", "_files"): "feeds: kind files",
    ("feeds", "_timestamp"): "feeds: timestamp",
    ("feeds", "_push"): "feeds: kind push",
    ("feeds", "_kafka"): "feeds: kind kafka",
    ("feeds", "_delta"): "feeds: kind delta",
    ("settings", "read_spark"): "spark",
    ("settings", "read_scheduler"): "scheduler",
    ("settings", "read_maintenance"): "maintenance",
    ("settings", "read_lineage"): "lineage",
    ("settings", "read_catalog"): "catalog",
    ("server", "read_server"): "server",
    ("server", "_tls"): "tls",
    ("ingest", "read_ingest"): "ingest",
    ("alerts", "_entry"): "alerts",
    ("checks", "_entry"): "checks",
}
"""The section that a reader reads, by its module and name."""

KEYS = {
    "freshline.yml": {
        "name": "The project's name: letters, digits, `_`, `.` and `-`. Required.",
        "storage": "Where the tables are: table t is the Delta table STORAGE/t. A path relative to"
        " this file, or any URI that Spark writes. Required.",
        "libraries": "The SQL files: a list of `{glob: {include: tables/**/*.sql}}`. Required.",
        "configuration": "Settings of Spark, passed on as they are; `${env:NAME}` and"
        " `${file:PATH}` in a value are replaced.",
        "spark": "How Spark is started; see below.",
        "scheduler": "How the next table is chosen; see below.",
        "feeds": "Where data comes from, by name; see below for each kind.",
        "server": "The one address of a run: web page, API, metrics and pushes; see below.",
        "ingest": "How pushed records are stored; see below.",
        "maintenance": "Compaction, VACUUM and checks on idle tracks; see below.",
        "alerts": "Where changes of state are posted, a list; see below.",
        "lineage": "OpenLineage events; see below.",
        "catalog": "Where tables are registered by name; see below.",
        "checks": "What `freshline verify` checks of tables' rows, a list by table; see below.",
    },
    "feeds: kind files": {
        "kind": "`files`. Required.",
        "path": "A directory or URI; new files are found by listing it. Required.",
        "format": "`csv`, `json` (lines) or `parquet`. Required.",
        "options": "Options of Spark's reader for this format; `${env:NAME}` and `${file:PATH}` in"
        " a value are replaced.",
        "schema": "Columns and types, as in DDL. Required for csv and json.",
        "timestamp": "How a file's timestamp is read from its name; without it, its modification"
        " time.",
        "period": "How often a file is expected; without it, learned.",
        "settle": "A file is loaded once its size has not changed for this long.",
    },
    "feeds: timestamp": {
        "pattern": "A regular expression with one group that holds the timestamp. Required.",
        "format": "Its format, as in Python's strptime; UTC. Required.",
    },
    "feeds: kind push": {
        "kind": "`push`. Required.",
        "schema": "Columns and types, as in DDL. Required.",
        "time": "The event-time column.",
        "quota": "How much of the gateway's log the feed may hold.",
        "period": "How often records are expected; without it, learned.",
    },
    "feeds: kind kafka": {
        "kind": "`kafka`. Required.",
        "servers": "The brokers, `host:port` with commas between. Required.",
        "topic": "The topic. Required.",
        "format": "`json` or `csv`; json.",
        "schema": "Columns and types of a record, as in DDL. Required.",
        "starting": "`earliest`, `latest` or a moment: where to begin; earliest.",
        "on_new_topic": "What to do if another topic has the name now, or its offsets went back:"
        " `refuse` stops the feed, `read` reads on; refuse.",
        "options": "Options of the Kafka client; `${env:NAME}` and `${file:PATH}` in a value are"
        " replaced.",
        "time": "The event-time column.",
        "period": "How often records are expected; without it, learned.",
    },
    "feeds: kind delta": {
        "kind": "`delta`. Required.",
        "path": "The Delta table's directory or URI; this or `table`.",
        "table": "The Delta table's name in the session's catalog, like `db.orders`.",
        "on_new_table": "What to do if another table is in its place now, or it went back to an"
        " earlier version: `refuse` stops the feed, `reload` loads all of it in place of what was"
        " loaded; refuse.",
        "period": "How often versions are expected; without it, learned.",
    },
    "spark": {
        "master": "Any master; `local[*]` without it.",
        "packages": "Maven coordinates to add.",
        "jars": "A directory with every jar, which `freshline jars` fills; nothing is fetched.",
        "update_timeout": "An update that runs longer is cancelled and tried again; without it 20"
        " times its estimate and at least 10 minutes, for a first build no limit.",
    },
    "scheduler": {
        "tracks": "How many updates run at once; 2.",
        "policy": "What is updated next; `max-benefit`. `whittle` is what `freshline init` writes.",
        "partition": "Which tables share tracks: `none`, `edf-partitioned`, `proportional`; none.",
        "clustering": "k of `proportional`: how unequal the tables of one cluster may be; 10.",
        "allocation": "Tracks of `proportional`: `all`, or `basic`, as many as are needed; all.",
        "aggressive": "Whether a table may take a track on which another one is expected; true.",
        "inherit": "Whether a table counts for its dependents: `none`, `sum`, `max`,"
        " `max-plus`; max.",
        "inherit_factor": "K of `max-plus`; 1.",
        "chop": "An update loads at most this many periods of new data; without it, all.",
        "recovery": "Recovery periods of `aus`: `average`, `worst`, `simultaneous`; average.",
        "objective": "`staleness`, or `cost`: update as late as target lags allow; staleness.",
        "backfill_share": "The share of the tracks' time that backfills get while a table is late"
        " or another update waits; 0.1. Idle tracks are free for them.",
    },
    "maintenance": {
        "compact": "Whether small files are put together on idle tracks; true.",
        "vacuum": "Whether old files are removed on idle tracks; true.",
        "retention": "How long old versions stay readable, at least 1 hour; 7 days.",
        "rejected": "How long rejected rows are kept, at least 1 hour; 90 days.",
        "audit": "The share of the time that idle tracks verify views; 1%, 0 turns it off.",
        "trials": "Whether a view is tried on generated inputs before it is maintained from"
        " changes; true.",
    },
    "catalog": {
        "database": "The schema in which each table is registered after its first commit; it is"
        " created where it does not exist. Required.",
        "name": "The catalog, as Spark's settings name it; without it, `spark_catalog`.",
    },
    "lineage": {
        "namespace": "The namespace of the jobs in OpenLineage events. Required.",
    },
    "server": {
        "host": "The address to listen on; 127.0.0.1.",
        "port": "The port; 8787. 0 takes any free one.",
        "tokens": "Who may read and press buttons; required off the loopback, like `tls`.",
        "tls": "Certificate and key; see below.",
    },
    "tls": {
        "certificate": "The certificate's file, PEM. Required.",
        "key": "The key's file, PEM. Required.",
    },
    "ingest": {
        "host": "As `server.host`, where there is no `server`.",
        "port": "As `server.port`, where there is no `server`.",
        "memory": "How much memory records that wait may take; 256MB.",
        "max_body": "The largest body of a request, before and after decompression; 64MB.",
        "max_record": "The largest record; 1MB.",
        "folder": "Where the log of pushed records lies; STORAGE/_freshline/ingest.",
        "land_after": "Records are landed when they are this old; 5 s.",
        "tls": "As `server.tls`, where there is no `server`.",
        "tokens": "The tokens of the feeds, by name.",
    },
    "alerts": {
        "url": "Where CloudEvents are posted. Required.",
        "on": "Which changes: `late`, `recovered`, `failing`, `silent`, `quarantine`,"
        " `bound-broken`, `report-late`, `wrong-view`; all of them.",
        "for": "How long a state must last before it is posted; at once without it.",
    },
    "checks": {
        "unique": "A column or SQL expression, or a list of them, whose values are unique.",
        "not_null": "A column or expression that is never NULL.",
        "accepted_values": "A column or expression; `values` lists what it may be.",
        "relationships": "A column or expression; each of its values is one of `field` of `to`.",
        "values": "The values that `accepted_values` accepts.",
        "to": "The table that `relationships` refers to; another of Spark's by a name with dots.",
        "field": "Its column or expression.",
        "where": "The rows that the check is about, as an SQL condition; all without it.",
        "severity": "`error`, or `warn`: failures are reported, and do not change the exit status;"
        " error.",
        "name": "What messages call the check.",
    },
}
"""What each key means, by section, in the order of the page."""

WITHOUT = {
    "freshline.priority": "1",
    "freshline.target_lag": "no target",
    "freshline.time": "no event time",
    "freshline.refresh": "auto",
    "freshline.emit": "early",
    "freshline.catch_up": "oldest",
    "freshline.period": "the longest period of the feeds behind it",
    "freshline.window": "it is no report",
    "freshline.deadline": "it is no report",
    "freshline.groups": "1",
}
"""What holds for a table without a property."""
