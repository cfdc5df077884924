"""Answers of the API against what /openapi.json says of them."""

import json
import re


class Schemas:
    """Finds where a document is not as its schema says. A member that no schema names is a fault: answers are described whole."""

    KINDS = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}

    def __init__(self, openapi):
        self.shapes = openapi["components"]["schemas"]
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
        problem = answer["status"] >= 400
        media, _, _ = answer["type"].partition(";")
        where = f"{answer['method']} {answer['path']} {answer['status']}"
        item = next((item for pattern, item in self.routes if pattern.match(answer["path"])), None)
        if problem and item is None:
            schema = {"$ref": "#/components/schemas/Problem"}
        elif item is None:
            return f"{where}: no such path is described"
        else:
            method = "get" if answer["method"] == "HEAD" else answer["method"].lower()
            if problem and method not in item:
                schema = {"$ref": "#/components/schemas/Problem"}
            else:
                content = item[method]["responses"]["default" if problem else "2XX"]["content"]
                if media not in content:
                    return f"{where}: an answer of type {media!r} is not described"
                schema = content[media]["schema"]
        if media == "application/x-ndjson":
            documents = [json.loads(line) for line in answer["body"].split("\n") if line]
        elif media.endswith("json"):
            documents = [json.loads(answer["body"])]
        else:
            return ""
        return next(filter(None, (self.fault(document, schema, where) for document in documents)), "")

    def fault(self, value, schema, path):
        if "$ref" in schema:
            return self.fault(value, self.shapes[schema["$ref"].rpartition("/")[2]], path)
        types = schema.get("type", [])
        types = [types] if isinstance(types, str) else types
        if types and not any(self.is_a(value, kind) for kind in types):
            return f"{path}: {value!r} is not {' or '.join(types)}"
        if "enum" in schema and value not in schema["enum"]:
            return f"{path}: {value!r} is none of {schema['enum']}"
        if schema.get("format") == "date-time" and not re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", value):
            return f"{path}: {value!r} is no moment"
        if isinstance(value, list) and "items" in schema:
            return self.first(self.fault(item, schema["items"], f"{path}[{at}]") for at, item in enumerate(value))
        if isinstance(value, dict) and ("properties" in schema or "additionalProperties" in schema):
            return self.fault_of_members(value, schema, path)
        return ""

    def fault_of_members(self, value, schema, path):
        for name in schema.get("required", []):
            if name not in value:
                return f"{path}: lacks {name}"
        known = schema.get("properties", {})
        for name in value:
            if name not in known and "additionalProperties" not in schema:
                return f"{path}: {name} is not described"
        return self.first(self.fault(member, known.get(name, schema.get("additionalProperties")), f"{path}.{name}")
                          for name, member in value.items())

    @staticmethod
    def first(faults):
        return next(filter(None, faults), "")

    def is_a(self, value, kind):
        if kind in ("integer", "number"):
            return not isinstance(value, bool) and isinstance(value, int if kind == "integer" else (int, float))
        return isinstance(value, self.KINDS[kind])
