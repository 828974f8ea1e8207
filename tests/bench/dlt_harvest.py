"""dlt's REST source into PostgreSQL; run by the interpreter of an environment that has dlt."""

import json
import os
import resource
import sys
import time
from typing import Any

TUNED = {"NORMALIZE__WORKERS": "2", "LOAD__WORKERS": "2"}


def works_of(upstream: str, bounds: str) -> dict[str, Any]:
    """Crossref's works as dlt's REST source is told of them."""
    paginator = {
        "type": "cursor",
        "cursor_path": "message.next-cursor",
        "cursor_param": "cursor",
        "stop_after_empty_page": True,
    }
    endpoint = {
        "path": "works",
        "params": {"filter": bounds, "rows": 1000, "cursor": "*"},
        "data_selector": "message.items",
        "paginator": paginator,
    }
    # Appending is the quickest it has: a merge, which is what Patra and the floor do, takes longer.
    resource = {"name": "works", "write_disposition": "append", "endpoint": endpoint}
    return {"client": {"base_url": upstream}, "resources": [resource]}


def main(database_url: str, upstream: str, bounds: str, how: str, folder: str) -> None:
    """Extract, normalise and load; tell records, seconds, and the peak of this process and its largest child."""
    tuned = how == "tuned"
    os.environ |= {"RUNTIME__DLTHUB_TELEMETRY": "false", "DLT_DATA_DIR": folder, **(TUNED if tuned else {})}
    import dlt  # type: ignore[import-not-found]
    from dlt.sources.rest_api import rest_api_source  # type: ignore[import-not-found]

    destination = dlt.destinations.postgres(database_url)
    pipeline = dlt.pipeline("bench", destination=destination, dataset_name="bench", pipelines_dir=folder)
    source = rest_api_source(works_of(upstream, bounds), max_table_nesting=0 if tuned else None)
    started = time.perf_counter()
    pipeline.run(source, **({"loader_file_format": "csv"} if tuned else {}))
    seconds = time.perf_counter() - started
    peak_mb = sum(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)) / 1024
    with pipeline.sql_client() as client:
        ((records,),) = client.execute_sql("SELECT count(*) FROM works")
    print(json.dumps({"records": records, "seconds": seconds, "peak_mb": peak_mb}))


if __name__ == "__main__":
    main(*sys.argv[1:])
