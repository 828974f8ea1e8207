"""What is written means what was asked: a small reader of the written text agrees with the tree."""

import re
from collections.abc import Iterator
from itertools import compress, product

from hypothesis import given, settings
from hypothesis import strategies as st

from ingest_core.model.codes import ExprOp
from ingest_core.model.expression import Const, Exists, In, Junction, Node, Not, Term, Token, normalize
from ingest_core.model.spec import RuleSpec
from ingest_core.registry.render import Renderer, TimeText, Unrenderable

RULES = [
    RuleSpec(op=ExprOp.TOKEN, template="{value}"),
    RuleSpec(op=ExprOp.TERM, field="f", template="f={value}"),
    RuleSpec(op=ExprOp.EXISTS, field="f", template="f"),
    RuleSpec(op=ExprOp.AND, template=" AND "),
    RuleSpec(op=ExprOp.OR, template=" OR "),
    RuleSpec(op=ExprOp.NOT, template=" NOT "),
    RuleSpec(op=ExprOp.CONST, template="ALL"),
]
LETTERS = ["a", "b", "c"]
ATOMS = [*LETTERS, "f", *(f"f={letter}" for letter in LETTERS)]
RENDERER = Renderer(RULES, TimeText("%Y"))


def queries() -> st.SearchStrategy[Node]:
    """Queries over few words in normal form, as the compiler renders them; never the one that wants nothing."""
    letter = st.sampled_from(LETTERS)
    leaf = st.one_of(
        st.builds(Token, letter),
        st.builds(Term, st.just("f"), letter),
        st.builds(In, st.just("f"), st.lists(letter, min_size=1, max_size=3).map(lambda some: (*some,))),
        st.just(Exists("f")),
    )
    trees = st.recursive(leaf, lambda inner: st.builds(Not, inner) | st.builds(Junction, _ops(), _several(inner)))
    return trees.map(normalize).filter(lambda node: not isinstance(node, Const))


def _ops() -> st.SearchStrategy[ExprOp]:
    return st.sampled_from([ExprOp.AND, ExprOp.OR])


def _several(inner: st.SearchStrategy[Node]) -> st.SearchStrategy[tuple[Node, ...]]:
    return st.lists(inner, min_size=1, max_size=4).map(lambda some: (*some,))


def holds(node: Node, true: set[str]) -> bool:
    """Whether a record for which exactly these atoms are true is asked for."""
    if isinstance(node, Not):
        return not holds(node.child, true)
    if isinstance(node, Junction):
        answers = [holds(child, true) for child in node.children]
        return all(answers) if node.op == ExprOp.AND else any(answers)
    return not true.isdisjoint(atoms_of(node))


def atoms_of(leaf: Node) -> list[str]:
    """The atoms of which a leaf wants one."""
    if isinstance(leaf, Token):
        return [leaf.text]
    if isinstance(leaf, Term):
        return [f"f={leaf.value}"]
    return [f"f={value}" for value in leaf.values] if isinstance(leaf, In) else ["f"]


class Reader:
    """Reads the written text: `a NOT b` is a without b; whether AND binds closer than OR is to be chosen."""

    def __init__(self, text: str, true: set[str], *, precedence: bool) -> None:
        self._words = re.findall(r"[()]|[^()\s]+", text)
        self._true = true | {"ALL"}
        self._precedence = precedence

    def answer(self) -> bool:
        """What the text says of the record."""
        result = self._sum()
        assert not self._words, "read to its end"
        return result

    def _sum(self) -> bool:
        result = self._product()
        while self._words and self._words[0] != ")":
            operator = self._words.pop(0)
            if operator == "OR":
                other = self._product()
                result = result or other
            else:
                result = self._apply(operator, result)
        return result

    def _product(self) -> bool:
        result = self._primary()
        while self._precedence and self._words and self._words[0] in ("AND", "NOT"):
            result = self._apply(self._words.pop(0), result)
        return result

    def _apply(self, operator: str, left: bool) -> bool:
        assert operator in ("AND", "NOT")
        right = self._primary()
        return left and (right if operator == "AND" else not right)

    def _primary(self) -> bool:
        word = self._words.pop(0)
        if word != "(":
            assert word == "ALL" or word in ATOMS
            return word in self._true
        result = self._sum()
        assert self._words.pop(0) == ")"
        return result


def every_record(text: str) -> Iterator[set[str]]:
    """All there can be: each atom of the text true or not."""
    named = sorted(set(re.findall(r"[^()\s]+", text)) & set(ATOMS))
    for answers in product([False, True], repeat=len(named)):
        yield set(compress(named, answers))


@settings(max_examples=200)
@given(queries(), st.booleans())
def test_the_text_means_the_query_whatever_binds_closer(node: Node, precedence: bool) -> None:
    text = RENDERER.render(node).text

    assert text is not None
    for true in every_record(text):
        assert Reader(text, true, precedence=precedence).answer() == holds(node, true)


@given(queries())
def test_a_query_is_written_the_same_way_every_time(node: Node) -> None:
    again = Renderer(RULES[::-1], TimeText("%Y"))

    assert again.render(normalize(node)) == RENDERER.render(node)


@given(queries(), st.sampled_from(["f=", "f"]))
def test_without_its_rule_a_field_is_refused_and_never_left_out(node: Node, left_out: str) -> None:
    op = ExprOp.TERM if left_out == "f=" else ExprOp.EXISTS
    poorer = Renderer([rule for rule in RULES if rule.op != op], TimeText("%Y"))
    words = re.findall(r"[^()\s]+", str(RENDERER.render(node).text))
    asked = any(word.startswith("f=") if op == ExprOp.TERM else word == "f" for word in words)
    try:
        text = poorer.render(node).text
    except Unrenderable:
        assert asked
    else:
        assert not asked
        assert text == RENDERER.render(node).text
