"""Comments of columns, joined to the columns that the new project's query has."""

from __future__ import annotations

from collections.abc import Mapping

from freshline.importing.items import Item
from freshline.project.schema import schema_columns
from freshline.sql.text.outputs import Columns, output_columns


class Described:
    """Which comments of columns a table can have; tables are asked for parents first.

    A statement lists columns in the order of its query, so that order has to be known. The query's
    text tells it, with the columns of the tables that it reads.
    """

    def __init__(self) -> None:
        self._known: dict[str, Columns] = {}

    def add_feed(self, name: str, item: Item) -> None:
        """The columns of a feed, where its entry or the other tool declares them."""
        schema = item.schema or (item.feed or {}).get("schema")
        try:
            self._known[name.lower()] = schema_columns(str(schema or ""))
        except ValueError:
            return  # loading the new project says it

    def comments(
        self, name: str, query: str, wanted: Mapping[str, str]
    ) -> tuple[tuple[tuple[str, str], ...], str | None]:
        """Columns of the table with their comments, and why others have none; None: all have.

        Args:
            name: The table's name in the new project.
            query: Its query there.
            wanted: Comments by the name of the column.
        """
        columns = output_columns(query, self._known)
        if columns is not None:
            self._known[name.lower()] = columns
        if not wanted:
            return (), None
        if columns is None:
            return (), (
                f"comments of columns ({', '.join(wanted)}): the text of its query does not tell"
                " its columns"
            )
        texts = {column.lower(): text for column, text in wanted.items()}
        listed = tuple((each, texts[each.lower()]) for each in columns if each.lower() in texts)
        have = {each.lower() for each in columns}
        missing = [column for column in wanted if column.lower() not in have]
        why = f"comments of {', '.join(missing)}: its query has no such column" if missing else None
        return listed, why
