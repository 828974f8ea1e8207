"""The `fields` parameter: what it does not name is not in the answer."""

from dataclasses import dataclass

from deployments.sandbox.semanticscholar.failure import RefusalError
from deployments.sandbox.semanticscholar.template import TEMPLATES, Paper

DEFAULT = "title"
AUTHOR_FIELDS = frozenset({"authors.authorId", "authors.name"})


@dataclass(frozen=True, slots=True)
class Fields:
    """What is asked of each paper, and of each of its authors."""

    names: frozenset[str]
    of_author: frozenset[str]

    def pick(self, paper: Paper) -> Paper:
        """The paper with what was asked for; what is asked for and not known is null."""
        picked = {name: part for name, part in paper.items() if name in self.names}
        if "authors" in picked:
            picked["authors"] = [{n: part for n, part in a.items() if n in self.of_author} for a in paper["authors"]]
        return picked


def read_fields(text: str | None) -> Fields:
    """The fields asked for; the ids always come along."""
    asked = [name.strip() for name in (text or DEFAULT).split(",")]
    known = set(TEMPLATES.templates[0]) | AUTHOR_FIELDS
    unknown = [name for name in asked if name not in known]
    if unknown:
        raise RefusalError(f"Unrecognized or unsupported fields: [{', '.join(unknown)}]")
    subfields = {name.partition(".")[2] for name in asked if name in AUTHOR_FIELDS}
    return Fields(
        names=frozenset({name.partition(".")[0] for name in asked} | {"paperId"}),
        of_author=frozenset((subfields or {"name"}) | {"authorId"}),
    )
