"""The judge of answers itself: it finds planted faults, and looks at what the suite gets."""

import json

import pytest

from conftest import Connection, schemas


def answer(path, body, status=200, media="application/json", method="GET"):
    return {"body": json.dumps(body), "method": method, "path": path, "status": status, "type": media}


def test_a_good_answer_has_no_fault():
    assert schemas().fault_of(answer("/healthz", {"status": "ok"})) == ""
    assert schemas().fault_of(answer("/api/v1/jobs/1a:cancel", {"id": "1a", "resource_version": 3}, method="POST")) == ""
    event = {"seq": 1, "time": "2026-11-24T10:00:00.000Z", "type": "job.submitted", "job": "1a"}
    assert schemas().fault_of(answer("/api/v1/events", event, media="application/x-ndjson")) == ""


@pytest.mark.parametrize("wrong, words", [
    (answer("/healthz", {}), '"status" is a required property'),
    (answer("/healthz", {"status": 1}), '1 is not of type "string"'),
    (answer("/healthz", {"status": "ok", "more": 1}), "'more' was unexpected"),
    (answer("/api/v1/home", {"status": "ok"}), '"daemon_pid" is a required property'),
    (answer("/nowhere", {}), "not described: 'get'"),
    (answer("/healthz", {}, media="application/x-ndjson"), "not described: 'application/x-ndjson'"),
    (answer("/api/v1/jobs/x", {"code": "NotFound"}, 404, "application/problem+json"), '"detail" is a required property'),
    (answer("/api/v1/events", {"seq": 1, "time": "noon", "type": "x"}, media="application/x-ndjson"), '"noon" is not a "date-time"'),
])
def test_a_fault_is_found(wrong, words):
    assert words in schemas().fault_of(wrong)


def test_what_any_client_gets_is_looked_at(runnel):
    runnel.ended("run: echo hello\n")
    connection = Connection(runnel.home / "daemon.sock", timeout=10)
    connection.request("GET", "/api/v1/jobs/nobody")
    assert connection.getresponse().read()
    connection.close()
    lines = [json.loads(line) for line in runnel.answers.read_bytes().split(b"\n") if line]
    assert {"/api/v1/jobs", "/healthz"} <= {line["path"] for line in lines}
    assert any(line["status"] == 404 for line in lines)
    assert runnel.faults_of_answers() == []
    runnel.answers.write_text(json.dumps(answer("/healthz", {})) + "\n")
    assert len(runnel.faults_of_answers()) == 1
    runnel.answers.unlink()
