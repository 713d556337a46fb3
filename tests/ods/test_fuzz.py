"""Whatever a file contains, the reader gives ops or an `OdsError`."""

import os
import re
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from oneop._source import SourceText
from oneop.errors import OdsError
from oneop.ods.ops import ops_of, run_file

from .malformed import MALFORMED

CORPUS = Path(__file__).parent / "corpus"
TEXTS = [path.read_text() for path in sorted(CORPUS.glob("*.td"))] + [case.text for case in MALFORMED]
WORDS = sorted({word for text in TEXTS for word in re.findall(r"\w+|!\w+|[^\w\s]", text)})
EXAMPLES = int(os.environ.get("ONEOP_FUZZ_EXAMPLES", "60"))
SETTINGS = settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))


def read(text):
    try:
        return ops_of(run_file(SourceText(CORPUS / "fuzz.td", text), [], []).program)
    except OdsError as error:
        assert re.match(r".+:\d+:\d+: error: .+\n", str(error)), error
        return None


@SETTINGS
@given(st.lists(st.sampled_from(WORDS), max_size=60))
def test_words_in_any_order(words):
    read(" ".join(words))


@SETTINGS
@given(st.data())
def test_damaged_files(data):
    tokens = re.findall(r"\s+|\w+|!\w+|[^\w\s]", data.draw(st.sampled_from(TEXTS)))
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(tokens) - 1))
        tokens[place] = data.draw(st.sampled_from(["", *WORDS, *tokens]))
    read("".join(tokens))


@SETTINGS
@given(st.text(max_size=200))
def test_any_text(text):
    read(text)
