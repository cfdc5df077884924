"""Answers of the API against what /openapi.json says of them."""

import functools
import json
import re

import jsonschema_rs

PROBLEM = {"$ref": "#/components/schemas/Problem"}
MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")


def described_whole(schema):
    """The schema, of which a member that it does not name is a fault."""
    if isinstance(schema, list):
        return [described_whole(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {name: described_whole(part) for name, part in schema.items()}
    if isinstance(schema.get("properties"), dict):
        closed.setdefault("additionalProperties", False)
    return closed


class Schemas:
    """What a build says of its answers."""

    def __init__(self, openapi):
        self.components = described_whole(openapi["components"])
        # Literal parts win over parameters, as in the router.
        self.routes = sorted(((self.pattern(path), item) for path, item in openapi["paths"].items()),
                             key=lambda route: route[0].pattern.count("[^"))

    @staticmethod
    def pattern(path):
        """An action is reached by "/cancel" as by ":cancel"."""
        literals = (re.escape(part).replace(":", "[:/]") for part in re.split(r"\{\w+\}", path))
        return re.compile("[^/:]+".join(literals) + r"\Z")

    def fault_of(self, answer):
        """The first fault of a recorded answer, or ""."""
        media, _, _ = answer["type"].partition(";")
        where = f"{answer['method']} {answer['path']} {answer['status']}"
        try:
            schema = self.schema_of(answer, media)
        except KeyError as missing:
            return f"{where}: not described: {missing}"
        if media == "application/x-ndjson":
            documents = [json.loads(line) for line in answer["body"].split("\n") if line]
        elif media.endswith("json"):
            documents = [json.loads(answer["body"])]
        else:
            return ""
        validator = self.validator(json.dumps(schema))
        errors = (error for document in documents for error in validator.iter_errors(document))
        return next((f"{where}: {error.instance_path}: {error.message}" for error in errors), "")

    def schema_of(self, answer, media):
        problem = answer["status"] >= 400
        item = next((item for pattern, item in self.routes if pattern.match(answer["path"])), {})
        method = "get" if answer["method"] == "HEAD" else answer["method"].lower()
        if problem and method not in item:
            return PROBLEM
        return item[method]["responses"]["default" if problem else "2XX"]["content"][media]["schema"]

    @functools.cache
    def validator(self, schema):
        """The validator of a schema as text."""
        whole = {"components": self.components, "allOf": [described_whole(json.loads(schema))]}
        return jsonschema_rs.Draft202012Validator(whole, formats={"date-time": MOMENT.fullmatch}, validate_formats=True)
