"""Which shapes go together: templates such as (a, b), (b, c), found by asking an op's inference.

An axis is a letter; the same letter is the same size. A declarative inference says its templates itself. Otherwise
templates are tried, and those that inference takes are kept. Inference may take more than the op means to: a backward
op often looks at the shape of one input only. So a template in which inputs differ is believed only if each axis that
one input alone has also appears in a result, or if inference refuses all that are more general.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Shape = tuple[int, ...]
#: Shapes of the results for shapes of the inputs, or None where inference refuses.
Infer = Callable[[Sequence[Shape]], Sequence[Shape] | None]

_SECONDS = 2.0
_MOST = 24
_ASKED = 32  # between two looks at the clock
_SEARCHED_AXES, _CUBE_AXES, _MOST_CUBES = 6, 12, 4  # of three inputs and more
SIZES = dict(zip("abcdefghij", (2, 3, 5, 7, 11, 13, 17, 19, 23, 29), strict=True))
#: An op may want one axis to be longer than another, so they are tried in both orders.
_REVERSED = dict(zip(reversed(SIZES), SIZES.values(), strict=True))
_ODD_SIZES = dict(zip(SIZES, (3, 5, 7, 11, 13, 17, 19, 23, 29, 31), strict=True))
_ODD_REVERSED = dict(zip(reversed(SIZES), _ODD_SIZES.values(), strict=True))


@dataclass(frozen=True)
class Template:
    """The axes of each input tensor: numbers, which are their size, or letters. `dd` is twice as long as `d`."""

    axes: tuple[tuple[str, ...], ...]

    @property
    def symbols(self) -> list[str]:
        """The letters, whose sizes are open."""
        return sorted({axis[0] for axes in self.axes for axis in axes if not axis.isdigit()})

    def shapes(self, sizes: Mapping[str, int]) -> list[Shape]:
        """Return the shapes for these sizes."""
        return [
            tuple(int(axis) if axis.isdigit() else len(axis) * sizes[axis[0]] for axis in axes) for axes in self.axes
        ]


def find_templates(kind: str, count: int, infer: Infer) -> list[Template]:
    """Return the templates of an op with `count` input tensors; `kind` is that of its inference.

    Where inference takes some for even sizes only, or none, such sizes are tried too, and then last axes of which some
    are half as long as others.
    """
    if count == 0:
        return [Template(())]
    templates = _find(kind, count, infer)
    odd = [template for template in templates if template.symbols and _takes_odd_sizes(template, infer)]
    if odd and len(odd) == sum(bool(template.symbols) for template in templates):
        return templates

    def infer_halves(shapes: Sequence[Shape]) -> Sequence[Shape] | None:
        results = infer([tuple(2 * size for size in shape) for shape in shapes])
        return None if results is None else [tuple(size // 2 for size in result) for result in results]

    even = [
        _with_odd_axes(template, infer)
        for template in _find(kind, count, infer_halves)
        if template.symbols and not any(_is_special_case(template, other) for other in odd)
    ]
    # What was taken as its axes were 2 by chance is no template of its own.
    kept = [
        template
        for template in templates
        if template in odd or not any(_is_special_case(template, _undoubled(other)) for other in even)
    ]
    all_kept = kept + even
    if any(template.symbols for template in all_kept):
        return all_kept
    return all_kept + list(_from_uneven_axes(count, infer))


def _takes_odd_sizes(template: Template, infer: Infer) -> bool:
    return any(infer(template.shapes(sizes)) is not None for sizes in (_ODD_SIZES, _ODD_REVERSED))


def _with_odd_axes(template: Template, infer: Infer) -> Template:
    """Return a template of which the axes are even that inference takes no odd ones of."""
    needed = {
        symbol
        for symbol in template.symbols
        if all(
            infer(template.shapes({**{name: 2 * size for name, size in sizes.items()}, symbol: odd[symbol]})) is None
            for sizes, odd in ((SIZES, _ODD_SIZES), (_REVERSED, _ODD_REVERSED))
        )
    }
    return Template(tuple(tuple(2 * axis if axis in needed else axis for axis in axes) for axes in template.axes))


def _undoubled(template: Template) -> Template:
    return Template(tuple(tuple(axis if axis.isdigit() else axis[0] for axis in axes) for axes in template.axes))


def _find(kind: str, count: int, infer: Infer) -> list[Template]:
    if "->" in kind:
        return [
            template
            for template in _from_text(kind, count)
            if _accepts(template, infer) or infer(template.shapes(_REVERSED)) is not None
        ]
    same = [
        template
        for template in (Template((tuple("abcd"[:rank]),) * count) for rank in range(5))
        if _accepts(template, infer)
    ]
    if kind == "broadcast":
        return same + [template for template in _broadcasts(count) if _accepts(template, infer)]
    if kind in ("elementwise", "reduce"):
        return same
    if count == 1:
        return same or list(_search(count, infer))
    if len(same) >= 4 and all(_results_are_alike(template, infer) for template in same):
        both = [template for template in _broadcasts(count) if _broadcasts_really(template, infer)]
        return same + both
    cubes = _from_cubes(count, infer) if count >= 3 else ()
    return [*list(_search(count, infer)), *cubes, *same][:_MOST]


def _ask(template: Template, infer: Infer) -> tuple[list[Shape], Sequence[Shape] | None]:
    shapes = template.shapes(SIZES)
    return shapes, infer(shapes)


def _accepts(template: Template, infer: Infer) -> bool:
    return _ask(template, infer)[1] is not None


def _results_are_alike(template: Template, infer: Infer) -> bool:
    shapes, results = _ask(template, infer)
    return results is not None and all(tuple(result) == shapes[0] for result in results)


def _broadcasts(count: int) -> list[Template]:
    full = ("a", "b", "c")
    others = [("c",), (), ("1", "c"), ("a", "1", "c"), ("a", "b", "1")]
    stretched = [Template((("a", "1", "c"), ("1", "b", "c"), *((full,) * (count - 2))))] if count > 1 else []
    return stretched + [
        Template(tuple(other if i == place else full for i in range(count)))
        for other in others
        for place in range(count)
    ]


def _broadcasts_really(template: Template, infer: Infer) -> bool:
    """Tell whether the result has the full shape wherever the small input stands."""
    full = tuple(SIZES[axis] for axis in ("a", "b", "c"))
    rotations = [template.axes[i:] + template.axes[:i] for i in range(len(template.axes))]
    answers = [_ask(Template(axes), infer)[1] for axes in rotations]
    return all(results is not None and all(tuple(result) == full for result in results) for results in answers)


def _from_text(kind: str, count: int) -> Iterator[Template]:
    sides = [[tensor.split() for tensor in side.split(",")] for side in kind.split("->")]
    inputs = sides[0]
    names = dict.fromkeys(axis for axes in inputs for axis in axes if axis != "..." and not axis.isdigit())
    letters = dict(zip(names, "abcdefgh", strict=False))
    for extra in ((), ("i",), ("i", "j")) if any("..." in axes for axes in inputs) else ((),):
        yield Template(
            tuple(
                tuple(symbol for axis in axes for symbol in (extra if axis == "..." else (letters.get(axis, axis),)))
                for axes in inputs[:count]
            )
        )


def _search(count: int, infer: Infer) -> Iterator[Template]:
    """Yield templates that inference takes and that are believed, the most general first."""
    ends = time.process_time() + _SECONDS  # on a busy machine as many as on an idle one
    most_rank, most_axes = (4, 8) if count <= 2 else (3, _SEARCHED_AXES)
    templates: list[Template] = []
    doubted: list[Template] = []
    asked = 0
    for ranks in sorted(itertools.product(range(most_rank + 1), repeat=count), key=sum):
        if sum(ranks) > most_axes:
            continue
        for letters in sorted(_partitions(sum(ranks)), key=lambda letters: -len(set(letters))):
            rest = iter(letters)
            template = Template(tuple(tuple(next(rest) for _ in range(rank)) for rank in ranks))
            if any(_is_special_case(template, known) for known in templates):
                continue
            results = _ask(template, infer)[1]
            asked += 1
            if results is not None:
                general = not any(_is_special_case(template, other) for other in doubted)
                if _is_believed(template, results, insisted=general):
                    templates.append(template)
                    yield template
                else:
                    doubted.append(template)
            # Some systems take half a millisecond to say the time, longer than inference takes.
            if len(templates) >= _MOST or (asked % _ASKED == 0 and time.process_time() > ends):
                return


def _from_cubes(count: int, infer: Infer, least: int = _SEARCHED_AXES + 1) -> Iterator[Template]:
    """Yield templates of `least` axes and more than `_search` tries, such as the three inputs of an attention.

    Where inference takes inputs whose axes are all of one size, it is asked which of them must be changed together.
    """
    ends = time.process_time() + _SECONDS
    num_templates = 0
    for ranks in sorted(itertools.product(range(5), repeat=count), key=sum) if count <= 5 else ():
        if not least <= sum(ranks) <= _CUBE_AXES or infer([(4,) * rank for rank in ranks]) is None:
            continue
        template = _loosened(ranks, infer, ends)
        results = None if template is None else _ask(template, infer)[1]
        if template is not None and results is not None and _is_believed(template, results, insisted=True):
            num_templates += 1
            yield template
        if num_templates >= _MOST_CUBES or time.process_time() > ends:
            return


#: Where inputs after the first may have axes of size 1, as angles that are shared by batches and heads.
_ONES = ((), (0,), (0, 1), (0, 2), (1,), (2,))


def _from_uneven_axes(count: int, infer: Infer) -> Iterator[Template]:
    """Yield templates in which inputs have axes of size 1, or last axes twice as long as those of others.

    These are looked for where nothing else is taken, as in turns of pairs by angles.
    """
    ends = time.process_time() + _SECONDS
    subsets = [doubled for r in range(count + 1) for doubled in itertools.combinations(range(count), r)]
    for ones, doubled in itertools.product(_ONES, subsets) if count > 1 else ():

        def changed(axes: Sequence[Any], place: int, unit: Any, ones: Any = ones, doubled: Any = doubled) -> list[Any]:
            changed_axes = [*axes[:-1], 2 * axes[-1]] if place in doubled and axes else list(axes)
            for position in ones if place else ():
                changed_axes.insert(position, unit)
            return changed_axes

        def infer_changed(shapes: Sequence[Shape], changed: Any = changed) -> Sequence[Shape] | None:
            return infer([tuple(changed(shape, place, 1)) for place, shape in enumerate(shapes)])

        cubes = list(_from_cubes(count, infer_changed, least=1))
        for template in cubes:
            yield Template(tuple(tuple(changed(axes, place, "1")) for place, axes in enumerate(template.axes)))
        if cubes or time.process_time() > ends:
            return


def _loosened(ranks: Sequence[int], infer: Infer, ends: float) -> Template | None:
    """Return the template of the axes that inference takes together only, or None where time runs out."""
    letters: dict[int, str] = {}
    for first in range(sum(ranks)):
        if first in letters:
            continue
        others = [place for place in range(first + 1, sum(ranks)) if place not in letters]
        subsets = itertools.chain.from_iterable(itertools.combinations(others, r) for r in range(len(others) + 1))
        for subset in subsets:
            rest = iter(7 if place in (first, *subset) else 4 for place in range(sum(ranks)))
            if infer([tuple(next(rest) for _ in range(rank)) for rank in ranks]) is not None:
                letter = "abcdefghij"[min(len(set(letters.values())), 9)]
                letters.update(dict.fromkeys((first, *subset), letter))
                break
            if time.process_time() > ends:
                return None
        if first not in letters:
            return None
    places = iter(range(sum(ranks)))
    return Template(tuple(tuple(letters[next(places)] for _ in range(rank)) for rank in ranks))


def _partitions(count: int, used: str = "") -> Iterator[str]:
    """Yield all ways to name `count` axes, without renamings of each other."""
    if len(used) == count:
        yield used
        return
    letters = "abcdefghij"[: len(set(used)) + 1]
    for letter in letters:
        yield from _partitions(count, used + letter)


def _is_believed(template: Template, results: Sequence[Shape], *, insisted: bool) -> bool:
    """Tell whether the op means to take such shapes.

    `insisted` says that inference refuses all more general ones: then it compared what the inputs share. So a loss of
    rows and targets has an axis that no result shows, in one input.
    """
    if len(template.axes) == 1:
        return True
    result_sizes = {size for result in results for size in result}
    hidden = [symbol for symbol in template.symbols if not {SIZES[symbol], 2 * SIZES[symbol]} & result_sizes]
    owners = {symbol: [i for i, axes in enumerate(template.axes) if symbol in axes] for symbol in template.symbols}
    lone = {owners[symbol][0] for symbol in hidden if len(owners[symbol]) == 1}
    return not lone or (insisted and len(lone) == 1 and _is_linked(list(owners.values()), len(template.axes)))


def _is_linked(owners: Sequence[Sequence[int]], count: int) -> bool:
    """Tell whether axes that inputs share lead from each of them to all others."""
    reached = {0}
    for _ in range(count):
        reached |= {i for places in owners if reached & set(places) for i in places}
    return len(reached) == count


def _is_special_case(template: Template, known: Template) -> bool:
    if [len(axes) for axes in template.axes] != [len(axes) for axes in known.axes]:
        return False
    renamed: dict[str, str] = {}
    pairs = zip(itertools.chain(*known.axes), itertools.chain(*template.axes), strict=True)
    return all(renamed.setdefault(general, special) == special for general, special in pairs)
