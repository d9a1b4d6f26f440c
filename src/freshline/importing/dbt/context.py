"""The names of dbt's Jinja context, by what their values depend on.

Compiled SQL is taken as the query of a table, so what it holds has to follow from the project
alone. A test asks the installed dbt for the names of its context and fails where one is not here.
A name that is not here is refused.
"""

from __future__ import annotations

from enum import Enum

from freshline.importing.dbt.jinja import Read


class Kind(Enum):
    """What a name's value depends on.

    Attributes:
        PROJECT: On the project's files alone.
        GIVEN: On what the compile was given: the target, the environment, ``--vars``.
        DATABASE: On the database's answers, or it may ask for them.
        RUN: On the command, its time, its options or on chance.
        FULL_REFRESH: On whether the run refreshes in full.
        COMPUTED: On a name that is put together or chosen while dbt renders the template.
        UNKNOWN: The name is none of dbt's context.
        UNREADABLE: Jinja cannot parse the template that may have names.
    """

    PROJECT = "project"
    GIVEN = "given"
    DATABASE = "database"
    RUN = "run"
    FULL_REFRESH = "full refresh"
    COMPUTED = "computed"
    UNKNOWN = "unknown"
    UNREADABLE = "unreadable"


_KINDS = {
    Kind.PROJECT: """
        api column this ref source metric function doc project_name
        config execute exceptions log print debug validation try_or_compiler_error write
        return fromjson tojson fromyaml toyaml zip zip_strict diff_of_two_dicts local_md5
        range dict namespace joiner cycler loop caller varargs kwargs super
    """,
    Kind.GIVEN: "env_var target env dbt_version var database schema",
    Kind.DATABASE: """
        run_query statement load_result load_relation load_cached_relation get_columns_in_query
        store_result store_raw_result _sql_results sql_results submit_python_job
        load_agate_table adapter adapter_macro
    """,
    Kind.RUN: """
        run_started_at invocation_id invocation_args_dict dbt_metadata_envs selected_resources
        thread_id sql_now sql compiled_code pre_hooks post_hooks defer_relation source_node flags
        graph model modules lipsum set set_strict schemas database_schemas results
    """,
    Kind.FULL_REFRESH: "is_incremental should_full_refresh",
    Kind.COMPUTED: "context builtins render self context_macro_stack import from include extends",
}
_OF_NAME = {name: kind for kind, names in _KINDS.items() for name in names.split()}
_OF_ATTRIBUTE: dict[str, dict[Kind, str]] = {
    "adapter": {
        Kind.PROJECT: """
            dispatch quote quote_as_configured quote_seed_column type Relation Column behavior
            convert_type render_raw_columns_constraints render_raw_model_constraints
        """,
    },
    "flags": {Kind.FULL_REFRESH: "FULL_REFRESH full_refresh"},
    "target": {Kind.PROJECT: "type"},
    "modules": {Kind.PROJECT: "pytz re itertools"},
    "this": {Kind.GIVEN: "schema database"},
    "model": {
        Kind.PROJECT: """
            name alias unique_id resource_type package_name fqn config tags meta description columns
            version latest_version language path original_file_path access group refs sources
            metrics constraints contract docs checksum depends_on
        """,
        # The target's, where the project's files do not say them.
        Kind.GIVEN: "schema database",
    },
}
"""Attributes whose kind is not that of the name; any other attribute has the name's kind."""
_OF_MODULES = {("datetime", "timedelta"), ("datetime", "datetime", "strptime")}
"""What is read of Python's modules and asks no clock, though others of the same module do."""
_RESOLVERS = {
    "ref": "", "source": "", "metric": "", "function": "", "doc": "", "var": "has_var",
    "config": """get require set meta_get meta_require persist_relation_docs
        persist_column_docs""",
}  # fmt: skip
"""Objects that hold the adapter or the node: called, or read for one of these attributes."""
_ORDERS = frozenset({"sort", "length", "count", "min", "max", "sum"})
"""Filters after which the order of a set no longer shows."""
_CHANCE = frozenset({"random"})
_SAFE_FILTERS = """
    abs as_bool as_native as_number as_text attr batch capitalize center count d default
    dictsort e escape filesizeformat first float forceescape format groupby indent int is_list
    items join last length list lower map max min pprint reject rejectattr replace reverse round
    safe select selectattr slice sort string striptags sum title tojson trim truncate unique
    upper urlencode urlize wordcount wordwrap xmlattr
"""
_FILTERS = frozenset(_SAFE_FILTERS.split())


def kind_of(read: Read) -> Kind:
    """What the value read depends on, for a name that is no macro's."""
    name, *attributes = read.path
    if name is None:
        return Kind.COMPUTED
    for kind, names in _OF_ATTRIBUTE.get(name, {}).items():
        if attributes and attributes[0] in names.split():
            return kind
    if name == "modules" and any(read.path[1 : 1 + len(each)] == each for each in _OF_MODULES):
        return Kind.PROJECT
    if name in _RESOLVERS and not _resolves(read, _RESOLVERS[name]):
        return Kind.DATABASE
    if name in {"set", "set_strict"} and read.then in _ORDERS:
        return Kind.PROJECT
    return _OF_NAME.get(name, Kind.UNKNOWN)


def _resolves(read: Read, attributes: str) -> bool:
    return read.called if len(read.path) == 1 else read.path[1] in attributes.split()


def kind_of_filter(name: str | None) -> Kind:
    """What the filter's result depends on, besides its argument."""
    if name is None:
        return Kind.COMPUTED
    if name in _CHANCE:
        return Kind.RUN
    return Kind.PROJECT if name in _FILTERS else Kind.UNKNOWN


def word_of(read: Read) -> str:
    """The name as a reader of the template knows it, with the attribute that decides."""
    name = str(read.path[0])
    attribute = read.path[1] if len(read.path) > 1 else None
    told = attribute and (name in _OF_ATTRIBUTE or name in _RESOLVERS)
    return f"{name}.{attribute}" if told else name
