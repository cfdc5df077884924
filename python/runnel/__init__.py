"""Runnel from Python."""

from importlib import metadata
from pathlib import Path

from runnel.client import ServiceError, get, job, reports
from runnel.metrics import params, report
from runnel.saving import saving
from runnel.study import Study, Trial, TrialPruned, TrialTaken, create_study, load_study


def _read_version() -> str:
    """The file VERSION of a source tree, else what the installed package says."""
    source = Path(__file__).resolve().parents[2] / "VERSION"
    if source.is_file():
        return source.read_text(encoding="utf-8").strip()
    return metadata.version("runnel")


__all__ = ["ServiceError", "Study", "Trial", "TrialPruned", "TrialTaken", "create_study", "get", "job", "load_study",
           "params", "report", "reports", "saving"]
__version__ = _read_version()
