"""The Dockerfile as a list of instructions, and what of the checkout reaches its builder."""

import fnmatch
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCKERFILE = ROOT / "deployments" / "docker" / "Dockerfile"


def instructions() -> list[tuple[str, list[str]]]:
    """Each instruction with its words."""
    lines = [line for line in DOCKERFILE.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    joined = "\n".join(lines).replace("\\\n", " ").splitlines()
    return [(words[0], words[1:]) for line in joined if (words := line.split())]


def stages() -> list[list[tuple[str, list[str]]]]:
    """The instructions of each stage."""
    found: list[list[tuple[str, list[str]]]] = []
    for name, words in instructions():
        if name == "FROM":
            found.append([])
        found[-1].append((name, words))
    return found


def in_context(path: str) -> bool:
    """Whether a path reaches the builder: the last rule that fits decides."""
    rules = DOCKERFILE.with_name("Dockerfile.dockerignore").read_text(encoding="utf-8").splitlines()
    kept = True
    for rule in [rule for rule in rules if rule and not rule.startswith("#")]:
        pattern = rule.lstrip("!").replace("**/", "*")
        if fnmatch.fnmatchcase(path, pattern) or path.startswith(f"{pattern}/"):
            kept = rule.startswith("!")
    return kept
