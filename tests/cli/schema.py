"""What --json promises.  Members may be added; those listed stay, with their types."""
import jsonschema


def check(value, schema):
    jsonschema.validate(value, schema, jsonschema.Draft7Validator)


def an_object(**members):
    return {"type": "object", "required": sorted(members), "properties": members}


TEXT = {"type": "string"}
TRUTH = {"type": "boolean"}
COUNT = {"type": "integer", "minimum": 0}
OR_NULL = {"type": "null"}


def optional(schema):
    return {"anyOf": [schema, OR_NULL]}


# `run`, once the call was accepted.
RESULT = an_object(
    status={"enum": ["ok", "error", "timeout", "interrupted", "oom", "exited", "signaled",
                     "denied", "lost"]},
    success=TRUTH,
    output={},
    output_kind={"enum": ["none", "json", "repr"]},
    stdout=TEXT,
    stderr=TEXT,
    truncated={"type": "object",
               "additionalProperties": {"type": "object", "required": ["dropped"]}},
    error=optional(TEXT),
    code=TEXT,
    exit_code=optional(COUNT),
    signal=COUNT,
    state_preserved=TRUTH,
    container_restarted=TRUTH,
    duration_ns=COUNT,
    data={"type": "array", "items": {"type": "object", "additionalProperties": TEXT}},
    artifacts={},
    usage=optional({"type": "object"}),
)

# `run`, when the code never began.
FAILURE = an_object(
    status={"const": "failed"}, success={"const": False}, error=TEXT, reason=TEXT)

# `doctor`, one per check.
FINDING = an_object(
    check=TEXT, status={"enum": ["ok", "warn", "fail"]}, message=TEXT, advice=optional(TEXT))

# `validate`
VERDICT = an_object(command=optional(TEXT), allowed=TRUTH, violation=optional(TEXT))

VERSION = an_object(program=TEXT, library=TEXT)
