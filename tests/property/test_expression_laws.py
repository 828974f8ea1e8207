"""Queries have one normal form: it means the same, whatever the order, the nesting and the spelling it came from."""

from collections.abc import Iterator
from datetime import UTC, timedelta, timezone
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from ingest_core.model.canonical import canonical_json, hash_of
from ingest_core.model.codes import ExprOp, TermMatch
from ingest_core.model.expression import (
    CLOSED,
    EVERYTHING,
    HALF_OPEN,
    NOTHING,
    Const,
    Exists,
    In,
    Junction,
    Leaf,
    Node,
    Not,
    Range,
    Term,
    Token,
    both,
    from_json,
    localize,
    normalize,
)
from tests.support.strategies import recent_instants

FIELDS = st.sampled_from(["title", "type", "year"])
WORDS = st.sampled_from(["heart", "Heart", "failure", "a b", "学習", '"', ""])
MATCHES = st.sampled_from(TermMatch)
COLUMNS = st.none() | st.integers(1, 9)
ENDS = st.none() | st.sampled_from(["2020", "2024-01"]) | recent_instants()
JUNCTIONS = st.sampled_from([ExprOp.AND, ExprOp.OR])


def leaf_nodes() -> st.SearchStrategy[Leaf]:
    """A leaf of any kind, of few fields and words, so that equal ones meet."""
    return st.one_of(
        st.builds(Const, value=st.booleans()),
        st.builds(Token, WORDS, MATCHES, COLUMNS),
        st.builds(Term, FIELDS, WORDS, MATCHES, COLUMNS),
        st.builds(In, FIELDS, st.lists(WORDS, min_size=1, max_size=4).map(tuple), COLUMNS),
        st.builds(Range, FIELDS, ENDS, ENDS, st.sampled_from([HALF_OPEN, CLOSED]), COLUMNS),
        st.builds(Exists, FIELDS, COLUMNS),
    )


def leaves(node: Node) -> Iterator[Leaf]:
    """Every leaf, in order."""
    if isinstance(node, Not):
        yield from leaves(node.child)
    elif isinstance(node, Junction):
        for child in node.children:
            yield from leaves(child)
    else:
        yield node


def nodes(max_leaves: int = 12) -> st.SearchStrategy[Node]:
    """Any query, normal or not: junctions of none, of one, of the same kind within each other."""
    return st.recursive(
        leaf_nodes(),
        lambda inner: (
            st.builds(Not, inner) | st.builds(Junction, JUNCTIONS, st.lists(inner, max_size=4).map(lambda one: (*one,)))
        ),
        max_leaves=max_leaves,
    )


def meaning_of(leaf: Leaf) -> str:
    """What a leaf asks, whatever its spelling: the key by which an assignment knows it."""
    if isinstance(leaf, In) and len(set(leaf.values)) == 1:
        leaf = Term(leaf.field, leaf.values[0], TermMatch.EXACT)
    return canonical_json(leaf.json())


def holds(node: Node, assignment: dict[str, bool]) -> bool:
    """Whether a record for which the leaves are as assigned is among those asked for."""
    if isinstance(node, Not):
        return not holds(node.child, assignment)
    if isinstance(node, Junction):
        answers = [holds(child, assignment) for child in node.children]
        return all(answers) if node.op == ExprOp.AND else any(answers)
    return node.value if isinstance(node, Const) else assignment[meaning_of(node)]


def assignments(data: st.DataObject, *trees: Node) -> dict[str, bool]:
    """A truth value for every leaf of the trees."""
    known = sorted({meaning_of(leaf) for tree in trees for leaf in leaves(tree)})
    return {key: data.draw(st.booleans(), label=key) for key in known}


def shuffled(node: Node, data: st.DataObject) -> Node:
    """The same query said otherwise: other orders, things said twice, needless junctions and negations."""
    if isinstance(node, Not):
        return Not(shuffled(node.child, data))
    if isinstance(node, In):
        return In(node.field, tuple(data.draw(st.permutations(node.values + node.values[:1]))), 7)
    if not isinstance(node, Junction):
        return _wrapped(node, data)
    children = [shuffled(child, data) for child in node.children + node.children[:1]]
    return _wrapped(Junction(node.op, tuple(data.draw(st.permutations(children)))), data)


def _wrapped(node: Node, data: st.DataObject) -> Node:
    kinds: list[Node] = [
        node,
        Not(Not(node)),
        Junction(ExprOp.AND, (node,)),
        Junction(ExprOp.OR, (NOTHING, node)),
        Junction(ExprOp.AND, (EVERYTHING, node, node)),
    ]
    return data.draw(st.sampled_from(kinds))


def is_normal(node: Node) -> bool:
    """Flat, sorted, without twins and constants: said by its shape, not by the function under test."""
    if isinstance(node, Not):
        return not isinstance(node.child, Not | Const) and is_normal(node.child)
    if not isinstance(node, Junction):
        return True
    keys = [canonical_json(child.json()) for child in node.children]
    strange = [child for child in node.children if isinstance(child, Const) or _same_kind(child, node)]
    return len(keys) > 1 and keys == sorted(set(keys)) and not strange and all(map(is_normal, node.children))


def _same_kind(child: Node, parent: Junction) -> bool:
    return isinstance(child, Junction) and child.op == parent.op


@given(nodes())
def test_the_normal_form_is_normal(node: Node) -> None:
    assert is_normal(normalize(node))


@given(nodes())
def test_normalising_twice_is_normalising_once(node: Node) -> None:
    assert normalize(normalize(node)) == normalize(node)
    assert normalize(normalize(node)).json() == normalize(node).json()


@given(nodes(), st.data())
def test_the_normal_form_means_the_same(node: Node, data: st.DataObject) -> None:
    normal = normalize(node)
    assignment = assignments(data, node, normal)

    assert holds(normal, assignment) == holds(node, assignment)


@given(nodes())
def test_the_normal_form_asks_nothing_new(node: Node) -> None:
    known = {meaning_of(leaf) for leaf in leaves(node)} | {meaning_of(EVERYTHING), meaning_of(NOTHING)}

    assert {meaning_of(leaf) for leaf in leaves(normalize(node))} <= known


@given(nodes(), st.data())
def test_order_repetition_and_needless_words_leave_no_trace(node: Node, data: st.DataObject) -> None:
    other = shuffled(node, data)

    assert normalize(other) == normalize(node)
    assert hash_of(normalize(other).json()) == hash_of(normalize(node).json())


@given(st.lists(nodes(6), min_size=3, max_size=3))
def test_how_things_are_grouped_leaves_no_trace(three: list[Node]) -> None:
    one, two, three_ = three
    for op in (ExprOp.AND, ExprOp.OR):
        left = Junction(op, (Junction(op, (one, two)), three_))
        right = Junction(op, (one, Junction(op, (two, three_))))
        assert normalize(left) == normalize(right)


@given(nodes())
def test_a_stored_query_is_the_query(node: Node) -> None:
    normal = normalize(node)

    assert from_json(normal.json()) == normal
    assert from_json(normal.json()).json() == normal.json()


@given(nodes())
def test_what_was_not_normal_survives_storage_too(node: Node) -> None:
    assert normalize(from_json(node.json())) == normalize(node)


@given(nodes(), nodes())
def test_equal_hashes_are_equal_trees(one: Node, other: Node) -> None:
    same = normalize(one) == normalize(other)

    assert (hash_of(normalize(one).json()) == hash_of(normalize(other).json())) == same


@given(st.lists(nodes(6), max_size=3), st.data())
def test_both_means_all_of_them(some: list[Node], data: st.DataObject) -> None:
    together = both(*some)
    assignment = assignments(data, together, *some)

    assert holds(together, assignment) == all(holds(one, assignment) for one in some)


@given(nodes(), recent_instants(), recent_instants())
def test_a_slice_adds_its_range_and_changes_nothing_else(node: Node, start: Any, end: Any) -> None:
    bounds = Range("updated", start, end)
    localized = localize(normalize(node).json(), bounds)

    assert from_json(localized) == both(node, bounds)
    assert localized == localize(localized, bounds)


@given(recent_instants(), st.integers(-14, 14))
def test_an_instant_is_the_same_in_every_zone(instant: Any, hours: int) -> None:
    there = instant.astimezone(timezone(timedelta(hours=hours)))

    assert normalize(Range("year", there, None)).json() == normalize(Range("year", instant, None)).json()


@given(recent_instants())
def test_an_instant_counts_to_the_millisecond(instant: Any) -> None:
    start = normalize(Range("year", instant, None)).json()["from"]

    assert start.endswith("000Z")
    assert start[:23] == instant.astimezone(UTC).isoformat(timespec="milliseconds")[:23]
