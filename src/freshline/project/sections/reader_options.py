"""A feed's options for Spark's reader, whose names have any case."""

from __future__ import annotations

import re
from collections.abc import Mapping

from freshline.core.errors import Place, UserError
from freshline.project.names import nearest
from freshline.project.yaml.section import Section

_OF_A_FEED: Mapping[str, Mapping[str, str]] = {
    "csv": {
        # A header with other names, or none, is an error: Spark itself takes columns by place.
        "enforceSchema": "false",
        # As most programs write csv; Spark's own is a backslash.
        "escape": '"',
    },
    # With it a text that is no date but a number is one, in days since 1970.
    "json": {"enableDateTimeParsingFallback": "false"},
}
"""Options that a feed has unless it says otherwise, by format."""


_OF_FILES = (
    "basePath", "ignoreCorruptFiles", "ignoreMissingFiles", "modifiedAfter", "modifiedBefore",
    "pathGlobFilter", "recursiveFileLookup",
)  # fmt: skip
_OF_TEXTS = (
    "charset", "codec", "columnNameOfCorruptRecord", "compression", "dateFormat",
    "enableDateTimeParsingFallback", "encoding", "lineSep", "locale", "mode", "multiLine",
    "preferDate", "prefersDate", "samplingRatio", "singleVariantColumn", "timeFormat", "timeZone",
    "timestampFormat", "timestampNTZFormat",
)  # fmt: skip
_KNOWN: Mapping[str, tuple[str, ...]] = {
    "csv": (
        "header", "sep", "delimiter", "quote", "escape", "comment", "nullValue", "nanValue",
        "emptyValue", "positiveInf", "negativeInf", "enforceSchema", "ignoreLeadingWhiteSpace",
        "ignoreTrailingWhiteSpace", "charToEscapeQuoteEscaping", "unescapedQuoteHandling",
        "maxColumns", "maxCharsPerColumn", "maxMalformedLogPerPartition", "inputBufferSize",
        "columnPruning", "inferSchema", "escapeQuotes", "quoteAll", "extension", *_OF_TEXTS,
        *_OF_FILES,
    ),
    "json": (
        "primitivesAsString", "prefersDecimal", "allowComments", "allowUnquotedFieldNames",
        "allowSingleQuotes", "allowNumericLeadingZero", "allowNumericLeadingZeros",
        "allowNonNumericNumbers", "allowBackslashEscapingAnyCharacter",
        "allowUnquotedControlChars", "dropFieldIfAllNull", "ignoreNullFields", "inferTimestamp",
        "maxNestingDepth", "maxNumLen", "maxStringLen", "pretty", "sortKeys", "useUnsafeRow",
        "writeNonAsciiCharacterAsCodePoint", *_OF_TEXTS, *_OF_FILES,
    ),
    "parquet": (
        "mergeSchema", "compression", "datetimeRebaseMode", "int96RebaseMode", *_OF_FILES,
    ),
}  # fmt: skip
"""What Spark 4.2 takes, by format; it passes over any other name."""


FLAGS = frozenset({
    "header", "enforceschema", "multiline", "ignoreleadingwhitespace", "ignoretrailingwhitespace",
    "recursivefilelookup", "mergeschema", "allowcomments", "allowsinglequotes",
    "allowunquotedfieldnames", "allownumericleadingzeros", "allownonnumericnumbers",
    "allowbackslashescapinganycharacter", "allowunquotedcontrolchars", "primitivesasstring",
    "prefersdecimal", "dropfieldifallnull", "inferschema", "preferdate", "columnpruning",
})  # fmt: skip
"""Options that are true or false, in lower case: with another value each file would fail."""
NOT_ROWS = frozenset(
    {
        "maxfilespertrigger", "maxbytespertrigger", "latestfirst", "maxfileage", "filenameonly",
        "maxcachedfiles", "discardcachedinputratio", "allowoverwritedfiles",
    }
)  # fmt: skip
"""Options of a stream. Which files are loaded when is the scheduler's to choose."""
_WHOLE_SOURCE = (
    "a table here equals its query over one version of the source: all of its rows, and the changed"
    " ones as they are now"
)


_WORDS = ("nullvalue", "emptyvalue", "nanvalue", "locale")
"""Options that say which text means something: no and off are texts here, and no is Norwegian."""


def options_of(section: Section) -> dict[str, str]:
    """The options that a feed gives, each once: Spark would take the last one in silence."""
    options = section.texts("options", words=_WORDS)
    spelled: dict[str, str] = {}
    for name in options:
        first = spelled.setdefault(name.lower(), name)
        if first != name:
            section.fault(
                "bad-option",
                f"the options of {section.what} have {first} and {name}",
                key="options",
                rule="names of options are compared without case",
                next_step="Remove one of them.",
            )
    return options


def stream_option_fault(option: str, where: Place | None) -> UserError | None:
    """What is wrong with an option of a stream of a Delta table; None: it chooses no rows."""
    if option.lower() in NOT_ROWS:
        return None
    return UserError(
        "stream-refused",
        f"a stream of a Delta table has the option {option}",
        where=where,
        rule=_WHOLE_SOURCE,
        next_step="Remove the option.",
    )


def unknown_options(file_format: str, options: Mapping[str, str]) -> list[tuple[str, str | None]]:
    """Options that Spark's reader does not know, each with the one that was probably meant.

    A name with a dot is a setting of the file system, which has its own.

    Args:
        file_format: csv, json or parquet.
        options: What the feed says.
    """
    known = _KNOWN.get(file_format, ())
    lowered = {name.lower() for name in known}
    strange = [name for name in options if "." not in name and name.lower() not in lowered]
    return [(name, nearest(name, known)) for name in strange] if known else []


def as_feeds_are_read(file_format: str, options: Mapping[str, str]) -> dict[str, str]:
    """Options of a feed, with the defaults of feeds.

    Args:
        file_format: csv, json or parquet.
        options: What the feed says.
    """
    return _with_defaults(options, _OF_A_FEED.get(file_format, {}))


def as_spark_reads(file_format: str, options: Mapping[str, str]) -> dict[str, str]:
    """Options of a feed that is read as Spark itself reads such files.

    A csv feed has other defaults: its header must be the schema's, and quotes are doubled
    (docs/design/0305). And where a feed says a locale, Spark's way with commas in decimals is meant
    (0310).

    Args:
        file_format: csv, json or parquet.
        options: What was given to Spark.
    """
    sparks = {"locale": "en-US"} if file_format != "parquet" else {}
    if file_format == "csv":
        sparks |= {"enforceSchema": "true", "escape": "\\"}
    return _with_defaults(options, sparks)


def _with_defaults(options: Mapping[str, str], defaults: Mapping[str, str]) -> dict[str, str]:
    missing = {name: each for name, each in defaults.items() if option(options, name) is None}
    return {**options, **missing}


def option(options: Mapping[str, str], *names: str) -> str | None:
    """An option by the first of its names that is given; None: none is."""
    lowered = {name.lower(): value for name, value in options.items()}
    return next((lowered[name.lower()] for name in names if name.lower() in lowered), None)


def csv_signs(options: Mapping[str, str]) -> tuple[str, str, str]:
    """What stands between two values, around a quoted one, and before a quote within that."""
    separator = option(options, "sep", "delimiter")
    quote, escape = option(options, "quote"), option(options, "escape")
    return (
        "," if separator is None else separator,
        '"' if quote is None else quote,
        _OF_A_FEED["csv"]["escape"] if escape is None else escape,
    )


def is_read_as_whole(options: Mapping[str, str]) -> bool:
    """Whether the reader takes a file as one text, and not line by line."""
    return (option(options, "multiLine") or "").lower() == "true"


def has_plain_lines(options: Mapping[str, str]) -> bool:
    """Whether the reader takes a file line by line, and lines end as they do in any text."""
    return not is_read_as_whole(options) and option(options, "lineSep") is None


def has_wide_characters(options: Mapping[str, str]) -> bool:
    """Whether every character has two bytes or four, those at the ends of lines as well."""
    encoding = option(options, "encoding", "charset") or ""
    return re.match("utf-?(16|32)", encoding.lower()) is not None
