"""The documentation builds without a warning, and says what the code says."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

from oneop.cli.main import COMMANDS
from oneop.settings import settings

ROOT = Path(__file__).parents[1]


def test_every_page_is_in_one_of_five_drawers():
    text = (ROOT / "docs/index.md").read_text()
    drawers = dict(re.findall(r"^:caption: (\w+)\n:maxdepth: 1\n\n((?:\w+\n)+)```", text, re.MULTILINE))
    assert [*drawers] == ["Tutorial", "Guides", "Reference", "Explanation", "Project"]
    listed = sorted(" ".join(drawers.values()).split())
    assert listed == sorted(page.stem for page in ROOT.glob("docs/*.md") if page.stem != "index")


def test_forms_of_a_call_are_in_their_files():
    rows = re.findall(r"^\|(?: \d+ \|)? `(\w+)` \| `([\w/.]+)` \|", (ROOT / "docs/calls.md").read_text(), re.MULTILINE)
    assert len(rows) == 16
    for form, file in rows:
        assert re.search(rf"\b{form}\b", (ROOT / file).read_text()), f"{file} has no {form}"


def test_files_that_pages_name_are_there():
    path = r"`((?:csrc|src/oneop|tests|examples|tools|benchmarks)/[\w/.-]+)`"
    named = {
        (page.name, name)
        for page in [*ROOT.glob("docs/*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
        if page.name != "tutorial.md"  # it names files of the reader's project
        for name in re.findall(path, page.read_text())
    }
    assert len(named) > 50 and [(page, name) for page, name in named if not (ROOT / name).exists()] == []


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Build the documentation; returns the folder of its pages."""
    if importlib.util.find_spec("sphinx.__main__" if importlib.util.find_spec("sphinx") else "sphinx") is None:
        pytest.skip("needs sphinx: make docs installs it")
    folder = tmp_path_factory.mktemp("pages")
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html", "docs", str(folder)]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert result.returncode == 0, result.stderr
    return folder


def test_settings_are_a_table(pages):
    page = (pages / "settings.html").read_text()
    rows = re.findall(r"<tr.*?</tr>", page, re.DOTALL)
    for setting in settings.describe():
        [row] = [row for row in rows if f">{setting.env}<" in row]
        assert f">{setting.name}<" in row and row.count("<td>") == 5


def test_every_command_has_its_help(pages):
    commands = (pages / "cli.html").read_text()
    for module in COMMANDS:
        name = module.__name__.rpartition(".")[2]
        assert f"oneop {name}" in commands or name in ("registry",)


def prose_of(page: str) -> str:
    """Return the text of a page as a reader sees it, without code."""
    article = re.search(r"<article.*</article>", page, re.DOTALL)
    assert article is not None
    without_code = re.sub(r"<(pre|code|dt)\b.*?</\1>", "", article[0], flags=re.DOTALL)
    return re.sub(r"<[^>]+>", "", without_code)


def markup_left_in(page: str) -> list[str]:
    """Return what looks like the source of a page in its rendered text."""
    prose = prose_of(page)
    return [
        *re.findall(r"<cite>.*?</cite>", page),  # `x` as RST reads it
        *re.findall(r"`+[^`\n]*`*|^\s*\.\. [\w-]+::.*|:[\w-]+: *\d+", prose, re.MULTILINE),
        *re.findall(r"[\u2018\u2019\u201c\u201d]\w*", prose),
        *re.findall(r"\*\*\w[^*]*\*\*|\[[^\]]+\]\([^)]*\)", prose),
    ]


def test_no_page_shows_markup(pages):
    left = {page.name: markup_left_in(page.read_text()) for page in sorted(pages.glob("*.html"))
            if page.name not in ("search.html", "genindex.html", "py-modindex.html")}  # fmt: skip
    assert {name: texts for name, texts in left.items() if texts} == {}


def test_code_spans_of_the_api_are_code(pages):
    page = (pages / "api.html").read_text()
    assert page.count("<code") > 100
    assert re.search(r"<code[^>]*><span class=\"pre\">oneop\.build</span></code>", page)


@pytest.mark.parametrize(
    "text", [".. list-table::\n", "the `name` of", "<cite>name</cite>", "“cpu”", "**bold**", "[a](b.md)"]
)
def test_markup_is_noticed(text):
    assert markup_left_in(f"<article><p>{text}</p><code>`x`</code></article>")
    assert not markup_left_in("<article><p>plain &quot;cpu&quot;, f(x)[0]</p><pre>`x` **y**</pre></article>")
