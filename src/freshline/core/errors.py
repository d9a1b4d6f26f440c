"""Every error that freshline raises on purpose, in three families by whose fault it is.

An error says what is wrong, where (file and line), the rule that was broken and the next
step. The family decides the exit status: the user's to correct 2, everything else 1.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Place:
    """A spot in a file the user wrote. ``line`` counts from 1; None: the file as a whole."""

    file: str
    line: int | None = None

    def __str__(self) -> str:
        return self.file if self.line is None else f"{self.file}:{self.line}"


class FreshlineError(Exception):
    """Base of the three families; never raised itself.

    Args:
        code: A short name for the fault that stays the same over versions, e.g. ``unknown-key``.
        what: What is wrong, one sentence without its full stop.
        where: The file and line, when there is one.
        rule: What would be right: the rule, or the names that are known.
        next_step: What the reader can do now.
    """

    exit_status = 1

    def __init__(
        self,
        code: str,
        what: str,
        *,
        where: Place | None = None,
        rule: str = "",
        next_step: str = "",
    ) -> None:
        self.code = code
        self.what = what
        self.where = where
        self.rule = rule
        self.next_step = next_step
        super().__init__(self.render())

    def render(self) -> str:
        """The whole message: ``[code] file:line: what; rule. Next step.``."""
        place = f"{self.where}: " if self.where else ""
        rule = f"; {self.rule}" if self.rule else ""
        step = f". {self.next_step}" if self.next_step else ""
        return f"[{self.code}] {place}{self.what}{rule}{step}"


class UserError(FreshlineError):
    """Something the user wrote or asked for is wrong; exit status 2."""

    exit_status = 2


class UserErrors(UserError):
    """Several user errors found in one go, in the order of the files."""

    def __init__(self, errors: list[UserError]) -> None:
        if not errors:
            raise InternalError("no-errors", "UserErrors was raised without an error in it")
        self.errors = list(errors)
        first = errors[0]
        super().__init__(
            first.code,
            first.what,
            where=first.where,
            rule=first.rule,
            next_step=first.next_step,
        )

    def render(self) -> str:
        """All messages, a line each."""
        return "\n".join(error.render() for error in self.errors)


class PlatformError(FreshlineError):
    """Spark, Delta, the disk, the network or another program failed; exit status 1."""


class InternalError(FreshlineError):
    """A fault of freshline itself; exit status 1. Worth a bug report with the journal."""
