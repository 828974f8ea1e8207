"""The automations on a server, known by their names."""

from collections.abc import Collection
from functools import partial
from typing import Any

from prefect.client.orchestration import SyncPrefectClient
from prefect.events.schemas.automations import Automation, AutomationCore

from flows.deploying.report import ChangeKind, Changes, DeployChange, Did

_OURS = "Patra: "
_TAG = "patra"


def keep_automation(client: SyncPrefectClient, declared: dict[str, Any], changes: Changes) -> None:
    """Install an automation once and keep it as declared; one that a user switched off stays off."""
    wanted = AutomationCore.model_validate(declared)
    found = client.read_automations_by_name(wanted.name)
    if not found:
        changes.make(
            partial(client.create_automation, wanted), DeployChange(ChangeKind.AUTOMATION, wanted.name, Did.CREATED)
        )
        return
    present = found[0]
    if _meaning(present) != _meaning(wanted):
        kept = wanted.model_copy(update={"enabled": present.enabled})
        update = partial(client.update_automation, present.id, kept)
        changes.make(update, DeployChange(ChangeKind.AUTOMATION, wanted.name, Did.UPDATED))


def remove_former_automations(
    client: SyncPrefectClient, declared: Collection[dict[str, Any]], changes: Changes
) -> None:
    """Delete automations of ours that are no longer declared; those with another name or without our tag stay."""
    wanted = {one["name"] for one in declared}
    for present in client.read_automations():
        ours = present.name.startswith(_OURS) and _TAG in present.tags
        if ours and present.name not in wanted:
            removed = partial(client.delete_automation, present.id)
            changes.make(removed, DeployChange(ChangeKind.AUTOMATION, present.name, Did.REMOVED))


def _meaning(automation: AutomationCore | Automation) -> dict[str, Any]:
    """What an automation does, however it was read; as JSON its sets would be lists, in any order."""
    return AutomationCore.model_validate(automation.model_dump()).model_dump(exclude={"enabled"})
