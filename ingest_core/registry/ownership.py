"""Which SEARCH endpoint owns the records that a DETAIL endpoint refreshes by id."""

from collections.abc import Sequence

from ingest_core.model.codes import EndpointRole
from ingest_core.registry.problems import Findings
from ingest_core.registry.rows import Row

ENDPOINTS = "reg_prov_endpoint_def"


def owners(endpoints: Sequence[Row]) -> dict[str, str]:
    """Each DETAIL endpoint whose records belong to a SEARCH endpoint, with that endpoint.

    `refreshes` says it; without it, the only endpoint that names this one as `detail`. An endpoint that is left out
    stores its records under its own name.
    """
    found = {}
    for row in endpoints:
        name, said = row["endpoint_name"], row.get("refreshes_endpoint_name")
        if row["endpoint_role_code"] != EndpointRole.DETAIL:
            continue
        linked = _linked_by(endpoints, name)
        owner = said or (linked[0] if len(linked) == 1 else None)
        if owner is not None and owner != name:
            found[name] = owner
    return found


def check_refreshes(endpoints: Sequence[Row], found: Findings) -> None:
    """`refreshes` is said by a DETAIL endpoint, and names a SEARCH endpoint or the endpoint itself."""
    roles = {row["endpoint_name"]: row["endpoint_role_code"] for row in endpoints}
    for row in endpoints:
        name, said = row["endpoint_name"], row.get("refreshes_endpoint_name")
        key = f"endpoints.{name}.refreshes"
        if said is None or not found.need(
            roles[name] == EndpointRole.DETAIL, "REFRESHES_MISPLACED", ENDPOINTS, key, said,
            f"{name!r} has role {roles[name]}, and only a DETAIL endpoint refreshes another's records",
            "take `refreshes` out, or set role: DETAIL",
        ) or not found.need(
            said in roles, "REFRESHES_UNKNOWN", ENDPOINTS, key, said,
            f"no endpoint {said!r}", f"endpoints: {', '.join(roles)}",
        ):  # fmt: skip
            continue
        found.need(
            said == name or roles[said] == EndpointRole.SEARCH, "REFRESHES_ROLE", ENDPOINTS, key, said,
            f"{said!r} has role {roles[said]}, and stores no records of its own",
            f"name the SEARCH endpoint whose records {name!r} gives by id",
        )  # fmt: skip
        linked = _linked_by(endpoints, name)
        found.need(
            not linked or said in linked, "REFRESHES_CONTRADICTED", ENDPOINTS, key, said,
            f"{', '.join(linked)} names {name!r} as `detail`, so the records are not those of {said!r}",
            f"leave it out, or say refreshes: {linked[0] if linked else said}",
        )  # fmt: skip


def check_owner(endpoints: Sequence[Row], definition: Row, found: Findings, *, required: bool) -> None:
    """A refresh by id says whose records it changes; rows that an older version applied are only warned about."""
    name = definition["endpoint_name"]
    searches = [row["endpoint_name"] for row in endpoints if _stores(row)]
    said = definition.get("refreshes_endpoint_name")
    if said or not searches or name in owners(endpoints) or definition["endpoint_role_code"] != EndpointRole.DETAIL:
        return
    linked = _linked_by(endpoints, name)
    candidates = linked or searches
    message = f"records refreshed by id would be stored a second time, under {name!r} beside {', '.join(candidates)}"
    remedy = " or ".join(f"refreshes: {one}" for one in candidates)
    if not linked:
        remedy += f"; or refreshes: {name}, if its records are of another kind"
    key = f"endpoints.{name}.refreshes"
    found.need(not required, "REFRESHES_MISSING", ENDPOINTS, key, None, message, remedy)
    found.warn(not required, f"{key}: {message} -> {remedy}")


def _linked_by(endpoints: Sequence[Row], detail: str) -> list[str]:
    """The endpoints that name this one as `detail`."""
    return [row["endpoint_name"] for row in endpoints if row.get("detail_endpoint_name") == detail]


def _stores(row: Row) -> bool:
    """Whether records are stored under this endpoint: it is a search, and serves an operation."""
    return row["endpoint_role_code"] == EndpointRole.SEARCH and bool(row["operations"])
