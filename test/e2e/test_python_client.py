"""What runnel.client says where nobody answers it."""

import sys

import pytest

import runnel.client


def test_a_home_without_daemon_and_program_is_named(tmp_path, monkeypatch):
    monkeypatch.delenv("RUNNEL_API", raising=False)
    monkeypatch.setenv("RUNNEL_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    with pytest.raises(FileNotFoundError, match="no daemon serves this home.*not in PATH") as refused:
        runnel.client.call("GET", "jobs")
    assert refused.value.filename == str(tmp_path / "daemon.sock")
    with pytest.raises(FileNotFoundError, match="no daemon serves here"):
        runnel.client.get("jobs")
