"""Names the best of the results that the tasks of the search left in the job's folder."""

import json
import os
import pathlib

results = [json.loads(path.read_text()) for path in pathlib.Path(os.environ["RUNNEL_JOB_DIR"]).glob("result-*.json")]
best = max(results, key=lambda result: result["accuracy"])
print(f"best of {len(results)}: {best}")
