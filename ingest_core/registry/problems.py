"""What a compile found: problems that stop it, all at once, and what is done less well than it could be."""

from dataclasses import dataclass, field
from typing import Any

from ingest_core.model.errors import BadInput
from ingest_core.model.visible import visible

SHOWN_CHARS = 200


@dataclass(frozen=True)
class Problem:
    """One rule that is broken: where, with which value, and the way out."""

    rule: str
    table: str
    key: str
    value: Any
    message: str
    remedy: str

    def __str__(self) -> str:
        value = "" if self.value is None or str(self.value) in self.message else f" (got {self._shown()})"
        return f"{self.key}: {visible(self.message + value)} [{self.rule}, {self.table}] -> {self.remedy}"

    def _shown(self) -> str:
        text = str(self.value)
        return text if len(text) <= SHOWN_CHARS else text[: SHOWN_CHARS - 1] + "…"

    def json(self) -> dict[str, Any]:
        """As scripts read it."""
        return {
            "rule": self.rule,
            "table": self.table,
            "key": self.key,
            "value": self.value,
            "message": self.message,
            "remedy": self.remedy,
        }


class SpecInvalid(BadInput):
    """A source that does not compile, with everything that is wrong with it."""

    def __init__(self, where: str, problems: list[Problem]) -> None:
        lines = [str(problem) for problem in problems]
        super().__init__(
            "SPEC_INVALID",
            lines[0] if len(lines) == 1 else "\n".join(f"  {line}" for line in ("", *lines))[2:],
            where=where,
            remedy="correct the source and apply it again",
        )
        self.problems = problems


@dataclass
class Findings:
    """Collects what is wrong and what is worth a word, so that all of it is said at once."""

    where: str
    problems: list[Problem] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    degradations: list[str] = field(default_factory=list)
    traits: list[str] = field(default_factory=list)

    def need(self, fine: object, rule: str, table: str, key: str, value: Any, message: str, remedy: str) -> bool:
        """Note the problem unless all is fine."""
        if not fine:
            self.add(rule, table, key, value, message, remedy)
        return bool(fine)

    def add(self, rule: str, table: str, key: str, value: Any, message: str, remedy: str) -> None:
        """Note a problem."""
        self.problems.append(Problem(rule, table, key, value, message, remedy))

    def warn(self, when: object, message: str) -> None:
        """Note something that may not be meant."""
        if when:
            self.warnings.append(message)

    def degrade(self, when: object, message: str) -> None:
        """Note a capability the provider lacks, and what is done instead."""
        if when:
            self.degradations.append(message)

    def mention(self, when: object, message: str) -> None:
        """Note a trait of the provider that makes nothing worse."""
        if when:
            self.traits.append(message)

    def refuse(self) -> None:
        """Stop here if anything is wrong."""
        if self.problems:
            raise SpecInvalid(self.where, self.problems)


class BlockRules:
    """The rules of one block: says table and key once."""

    def __init__(self, block: str, table: str, found: Findings) -> None:
        self._block = block
        self._table = table
        self._found = found

    def need(self, fine: object, rule: str, key: str, value: Any, message: str, remedy: str) -> bool:
        """Note the problem unless all is fine."""
        return self._found.need(fine, rule, self._table, f"{self._block}.{key}", value, message, remedy)

    def add(self, rule: str, key: str, value: Any, message: str, remedy: str) -> None:
        """Note a problem."""
        self._found.add(rule, self._table, f"{self._block}.{key}", value, message, remedy)
