"""Sphinx: `make docs`. Pages are plain Markdown, readable as they are; what can be made from the code is."""

import argparse
import re
import sys
from pathlib import Path

from docutils import nodes
from docutils.parsers.rst import Directive
from docutils.statemachine import StringList
from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "src"))

from oneop._version import __version__  # noqa: E402
from oneop.cli.main import make_parser  # noqa: E402
from oneop.settings import settings  # noqa: E402

project = "oneop"
author = "the oneop authors"
version = release = __version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
suppress_warnings = ["misc.highlighting_failure"]  # TableGen and terminal output have no lexer
html_theme = "furo"
html_title = f"oneop {__version__}"
html_show_copyright = False
default_role = "literal"  # `x` in a docstring is code, as it is in Markdown
smartquotes = False  # quotes in these pages belong to strings that readers copy
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
napoleon_google_docstring = True
exclude_patterns = ["_build"]


def outside_links_as_text(app: Sphinx, name: str, source: list[str]) -> None:
    """Links to files of the repository work where the pages lie beside them; here their text stays."""

    def plain(match: re.Match[str]) -> str:
        return match[1] if match[1].startswith("`") else f"`{match[1]}`"

    source[0] = re.sub(r"\[([^\]]+)\]\(\.\./(?!docs/)[^)]*\)", plain, source[0])


class SettingsTable(Directive):
    """The settings, from their descriptors."""

    def run(self) -> list[nodes.Node]:
        """Return a table."""
        rows = [["setting", "variable", "type", "default", ""], ["---"] * 5, *self.rows()]
        # The page is Markdown, and so is what is parsed inside it.
        lines = [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in rows]
        node = nodes.Element()
        self.state.nested_parse(StringList(lines, source="settings.py"), 0, node)
        return node.children

    @staticmethod
    def rows() -> list[list[str]]:
        """Return the cells."""
        return [
            [
                f"`{setting.name}`",
                f"`{setting.env}`",
                setting.type,
                "" if setting.default in (None, "") else f"`{setting.default}`",
                setting.doc,
            ]
            for setting in settings.describe()
        ]


class Commands(Directive):
    """The commands, from the parser."""

    def run(self) -> list[nodes.Node]:
        """Return the help of each command."""
        parser = make_parser()
        commands = next(action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
        found: list[nodes.Node] = []
        for name, command in commands.choices.items():
            command.formatter_class = lambda prog: argparse.RawDescriptionHelpFormatter(prog, width=100)
            section = nodes.section(ids=[f"oneop-{name}"])
            section += nodes.title(text=f"oneop {name}")
            section += nodes.literal_block(text=command.format_help(), language="text")
            found.append(section)
        return found


def setup(app: Sphinx) -> None:
    """Tell Sphinx of the above."""
    app.connect("source-read", outside_links_as_text)
    app.add_directive("oneop-settings", SettingsTable)
    app.add_directive("oneop-commands", Commands)
