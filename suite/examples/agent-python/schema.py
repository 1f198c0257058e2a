"""As much of JSON Schema as the example needs. What it does not know, it refuses to ignore."""

TYPES = {
    "null": lambda v: v is None,
    "boolean": lambda v: isinstance(v, bool),
    "string": lambda v: isinstance(v, str),
    "array": lambda v: isinstance(v, list),
    "object": lambda v: isinstance(v, dict),
    "number": lambda v: isinstance(v, (int, float)) and not isinstance(v, bool),
    "integer": lambda v: isinstance(v, int) and not isinstance(v, bool) or isinstance(v, float) and v.is_integer(),
}
NOTES = {"title", "description", "default", "examples", "$schema", "$id", "$comment"}


class SchemaError(ValueError):
    """The schema cannot be used."""


def check_schema(schema, at="the schema"):
    """Raise SchemaError where the schema is none, or none that this module understands."""
    if isinstance(schema, bool):
        return
    if not isinstance(schema, dict):
        raise SchemaError(f"{at} is not an object")
    for keyword, value in schema.items():
        if keyword == "type":
            names = value if isinstance(value, list) else [value]
            if not names or not all(isinstance(name, str) and name in TYPES for name in names):
                raise SchemaError(f"{at}: no such type: {value!r}")
        elif keyword == "properties":
            if not isinstance(value, dict):
                raise SchemaError(f"{at}: properties is not an object")
            for name, inner in value.items():
                check_schema(inner, f"{at}, property {name}")
        elif keyword in ("items", "additionalProperties"):
            check_schema(value, f"{at}, {keyword}")
        elif keyword == "required":
            if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
                raise SchemaError(f"{at}: required is not a list of names")
        elif keyword in ("minimum", "maximum"):
            if not TYPES["number"](value):
                raise SchemaError(f"{at}: {keyword} is not a number")
        elif keyword == "enum":
            if not isinstance(value, list):
                raise SchemaError(f"{at}: enum is not a list")
        elif keyword not in NOTES:
            raise SchemaError(f"{at}: the keyword {keyword} is not supported here")


def problems(value, schema, at="the value"):
    """What is wrong with a value, as a list of sentences."""
    if isinstance(schema, bool):
        return [] if schema else [f"{at} is not allowed"]
    names = schema.get("type", [])
    names = names if isinstance(names, list) else [names]
    if names and not any(TYPES[name](value) for name in names):
        return [f"{at} must be of type {' or '.join(names)}"]
    found = []
    if "enum" in schema and not any(_same(value, allowed) for allowed in schema["enum"]):
        found.append(f"{at} must be one of {schema['enum']}")
    if TYPES["number"](value):
        if value < schema.get("minimum", value):
            found.append(f"{at} must be at least {schema['minimum']}")
        if value > schema.get("maximum", value):
            found.append(f"{at} must be at most {schema['maximum']}")
    if isinstance(value, list) and "items" in schema:
        for i, item in enumerate(value):
            found += problems(item, schema["items"], f"{at}, item {i}")
    if isinstance(value, dict):
        found += [f"{at} lacks {name}" for name in schema.get("required", []) if name not in value]
        known = schema.get("properties", {})
        for name, item in value.items():
            found += problems(item, known.get(name, schema.get("additionalProperties", True)), f"{at}, {name}")
    return found


def _same(a, b):
    return a == b and isinstance(a, bool) == isinstance(b, bool)  # True == 1 in Python
