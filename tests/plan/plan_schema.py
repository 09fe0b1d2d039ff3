"""The part of JSON Schema that plan.schema.json uses, and strict reading: no
floats, no key twice.  Only the standard library."""
import json
import re

TYPES = {"object": dict, "array": list, "string": str, "boolean": bool,
         "integer": int, "null": type(None)}


def parse(text):
    def no_float(digits):
        raise ValueError(f"{digits} is not an integer")

    def no_duplicates(pairs):
        if len(dict(pairs)) != len(pairs):
            raise ValueError(f"a key twice among {[k for k, _ in pairs]}")
        return dict(pairs)

    return json.loads(text, parse_float=no_float, parse_constant=no_float,
                      object_pairs_hook=no_duplicates)


def canonical(value, level=1):
    """The one way to print a value: a line for each element of the outermost
    two levels, no spaces."""
    if level > 2:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    if isinstance(value, dict):
        return "{" + ",".join(f"\n{json.dumps(k)}:{canonical(v, level + 1)}"
                              for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join("\n" + canonical(v, level + 1) for v in value) + "]"
    return json.dumps(value, ensure_ascii=False)


def has_type(value, names):
    names = [names] if isinstance(names, str) else names
    return any(isinstance(value, TYPES[n]) and
               (n != "integer" or not isinstance(value, bool)) for n in names)


class Validator:
    KNOWN = {"$schema", "$ref", "title", "description", "definitions", "type",
             "required", "properties", "additionalProperties", "items", "enum",
             "const", "pattern", "minimum", "minItems", "maxItems"}

    def __init__(self, schema):
        self.root = schema
        self.fitting = set()  # (list or object, schema) of what is remembered
        self.remembers = False

    def remember(self, value):
        """Of a value that fits, and lives on unchanged, no part is looked at
        again, also where it is part of another value."""
        self.remembers = True
        assert not list(self.validate(value))
        self.remembers = False

    def validate(self, value, schema=None, path="$"):
        """Messages, one for each place that does not fit."""
        schema = self.root if schema is None else schema
        if isinstance(value, (dict, list)):
            place = id(value), id(schema)
            if place in self.fitting:
                return
            if self.remembers:
                self.fitting.add(place)
        unknown = set(schema) - self.KNOWN
        if unknown:
            yield f"{path}: the schema uses {unknown}, which is not checked"
        if "$ref" in schema:
            name = schema["$ref"].rsplit("/", 1)[1]
            yield from self.validate(value, self.root["definitions"][name], path)
        if "type" in schema and not has_type(value, schema["type"]):
            yield f"{path}: {value!r:.60} is not of type {schema['type']}"
            return
        yield from self.simple(value, schema, path)
        if isinstance(value, dict):
            yield from self.members(value, schema, path)
        if isinstance(value, list) and "items" in schema:
            for i, item in enumerate(value):
                yield from self.validate(item, schema["items"], f"{path}[{i}]")

    @staticmethod
    def simple(value, schema, path):
        if "const" in schema and value != schema["const"]:
            yield f"{path}: {value!r} is not {schema['const']!r}"
        if "enum" in schema and value not in schema["enum"]:
            yield f"{path}: {value!r} is not in {schema['enum']}"
        if "pattern" in schema and not re.search(schema["pattern"], value):
            yield f"{path}: {value!r} does not match {schema['pattern']}"
        if "minimum" in schema and value is not None and value < schema["minimum"]:
            yield f"{path}: {value} is below {schema['minimum']}"
        if "minItems" in schema and len(value) < schema["minItems"]:
            yield f"{path}: fewer than {schema['minItems']} items"
        if "maxItems" in schema and len(value) > schema["maxItems"]:
            yield f"{path}: more than {schema['maxItems']} items"

    def members(self, value, schema, path):
        properties = schema.get("properties", {})
        other = schema.get("additionalProperties", True)
        for key in schema.get("required", []):
            if key not in value:
                yield f"{path}: lacks {key!r}"
        for key, item in value.items():
            if key in properties:
                yield from self.validate(item, properties[key], f"{path}.{key}")
            elif other is False:
                yield f"{path}: does not know {key!r}"
            elif isinstance(other, dict):
                yield from self.validate(item, other, f"{path}.{key}")
