"""The sources that come with the product."""

from importlib.resources import files


def shipped_sources() -> dict[str, str]:
    """File name -> text of every shipped source, in order."""
    folder = files("ingest_core.registry") / "sources"
    return {
        entry.name: entry.read_text(encoding="utf-8")
        for entry in sorted(folder.iterdir(), key=lambda entry: entry.name)
        if entry.name.endswith(".yaml")
    }
