"""Jinja as dbt extends it: blocks of its own, and macros whose parameters can have types."""

from __future__ import annotations

from jinja2 import Environment, nodes
from jinja2.ext import Extension
from jinja2.parser import Parser


def parsed(text: str) -> nodes.Template:
    """The syntax tree of a template.

    Raises:
        jinja2.TemplateSyntaxError: It is none.
    """
    return _Parser(_JINJA, text).parse()


class _Parser(Parser):
    """``{% macro f(model: relation, names: list[string]) %}``: the types say nothing here."""

    def parse_signature(self, node: nodes.Macro | nodes.CallBlock) -> None:
        """Parse ``(a: type = default, ...)`` into the arguments of ``node``."""
        node.args, node.defaults = [], []
        self.stream.expect("lparen")
        while self.stream.current.type != "rparen":
            if node.args:
                self.stream.expect("comma")
            argument = self.parse_assign_target(name_only=True)
            argument.set_ctx("param")
            if self.stream.skip_if("colon"):
                self._pass_type()
            if self.stream.skip_if("assign"):
                node.defaults.append(self.parse_expression())
            node.args.append(argument)
        self.stream.expect("rparen")

    def _pass_type(self) -> None:
        self.stream.expect("name")
        if self.stream.skip_if("lbracket"):
            while self.stream.current.type != "rbracket":
                self._pass_type()
                self.stream.skip_if("comma")
            self.stream.expect("rbracket")


class _Blocks(Extension):
    """The blocks that dbt adds to Jinja's: a test is a macro, what others hold is their own."""

    tags = {"test", "data_test", "materialization", "snapshot", "docs"}  # noqa: RUF012

    def parse(self, parser: Parser) -> nodes.Node:
        """Parse one of them, from its tag to its end."""
        tag = next(parser.stream)
        macro = nodes.Macro(lineno=tag.lineno)
        macro.name = parser.parse_assign_target(name_only=True).name
        if tag.value in {"test", "data_test"}:
            parser.parse_signature(macro)
        while parser.stream.current.type not in {"block_end", "eof"}:  # a materialization's options
            next(parser.stream)
        ends = ("name:endtest", "name:enddata_test", f"name:end{tag.value}")
        body = parser.parse_statements(ends, drop_needle=True)
        if tag.value not in {"test", "data_test"}:
            return nodes.Scope(body, lineno=tag.lineno)
        macro.body = body
        return macro


_JINJA = Environment(  # noqa: S701 - it renders nothing
    extensions=["jinja2.ext.do", "jinja2.ext.loopcontrols", _Blocks]
)
