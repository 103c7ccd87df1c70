"""Makes `k8s/schemas/*.json` from published schemas: for whoever moves to another version of what they describe.

Kubernetes' own come from the folder of one version in the package kubernetes-validate, the others from the custom
resource definitions that Strimzi, KEDA and the Prometheus operator publish. What a validator needs is kept, closed (a
field that is not described is an error, as it is for an API server) and without prose; what stands in a schema more
than once stands in its `definitions`. The versions in use are in `k8s/schemas/README.md`.

Usage: validate_manifests_schemas.py OUT KUBERNETES_FOLDER CRD.yaml…
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import yaml

KINDS = (
    "configmap-v1",
    "deployment-apps-v1",
    "job-batch-v1",
    "namespace-v1",
    "networkpolicy-networking-v1",
    "persistentvolumeclaim-v1",
    "poddisruptionbudget-policy-v1",
    "service-v1",
    "serviceaccount-v1",
    "statefulset-apps-v1",
)
KEPT = frozenset(
    (
        *("type", "format", "enum", "const", "required", "properties", "additionalProperties", "items", "pattern"),
        *("oneOf", "anyOf", "allOf", "not", "minimum", "maximum", "minLength", "maxLength", "uniqueItems"),
        *("minItems", "maxItems", "minProperties", "maxProperties"),
    )
)
SHARED_BYTES = 120
"""Less is not worth a definition of its own."""


def lean(schema: Any, *, closed: bool = True) -> Any:
    """A schema of JSON Schema's own words only, closed wherever it lists its properties."""
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return {"$ref": "#/definitions/" + schema["$ref"].rpartition("/")[2]}
    if schema.get("x-kubernetes-int-or-string") or schema.get("format") == "int-or-string":
        return {"type": ["integer", "string"]}
    # Within a combination the properties are only those that it is about.
    result: dict[str, Any] = {}
    for word in KEPT & schema.keys():
        value = schema[word]
        if word == "pattern" and "(?i)" in value:
            continue  # Go's regular expressions have flags in the middle, JSON Schema's have none
        if word == "properties":
            result[word] = {name: lean(one, closed=closed) for name, one in sorted(value.items()) if name != "status"}
        elif word in ("oneOf", "anyOf", "allOf"):
            result[word] = [lean(one, closed=False) for one in value]
        elif word in ("items", "additionalProperties", "not"):
            result[word] = lean(value, closed=closed and word != "not")
        else:
            result[word] = value
    free = schema.get("x-kubernetes-preserve-unknown-fields")
    if closed and not free and "properties" in result:
        result.setdefault("additionalProperties", False)
    return result


def shared(schema: Any) -> Any:
    """The same schema, with what occurs more than once in `definitions`."""
    counts: Counter[str] = Counter()

    def count(one: Any) -> None:
        if isinstance(one, dict):
            text = json.dumps(one, sort_keys=True)
            counts[text] += 1
            if counts[text] > 1:
                return
        for part in one.values() if isinstance(one, dict) else one if isinstance(one, list) else ():
            count(part)

    count(schema)
    definitions: dict[str, Any] = {}

    def share(one: Any, *, is_schema: bool) -> Any:
        if isinstance(one, list):
            return [share(part, is_schema=is_schema) for part in one]
        if not isinstance(one, dict):
            return one
        text = json.dumps(one, sort_keys=True)
        # A map of properties holds schemas, and is none.
        walked = {key: share(part, is_schema=not is_schema or key != "properties") for key, part in one.items()}
        if not is_schema or counts[text] < 2 or len(text) < SHARED_BYTES:
            return walked
        name = hashlib.sha256(text.encode()).hexdigest()[:10]
        definitions[name] = walked
        return {"$ref": f"#/definitions/{name}"}

    top = share(schema, is_schema=True)
    return {**top, "definitions": dict(sorted(definitions.items()))} if definitions else top


def of_kubernetes(folder: Path, kind: str) -> Any:
    """A kind of Kubernetes' own, with the definitions that it reaches."""
    everything = json.loads((folder / "_definitions.json").read_text("utf-8"))["$defs"]
    top = lean(json.loads((folder / f"{kind}.json").read_text("utf-8")))
    wanted, definitions = [top], dict[str, Any]()
    while wanted:
        one = wanted.pop()
        if isinstance(one, dict):
            name = str(one.get("$ref", "")).removeprefix("#/definitions/")
            if name and name not in definitions:
                definitions[name] = lean(everything[name])
                wanted.append(definitions[name])
            wanted.extend(one.values())
        elif isinstance(one, list):
            wanted.extend(one)
    return {**top, "definitions": dict(sorted(definitions.items()))}


def of_definition(file: Path) -> tuple[str, Any]:
    """A custom resource's name as kubeconform asks for it, and its schema in the version that is stored."""
    spec = yaml.safe_load(file.read_text("utf-8"))["spec"]
    version = next(one for one in spec["versions"] if one["storage"])
    schema = lean(version["schema"]["openAPIV3Schema"])
    for name in ("apiVersion", "kind"):
        schema["properties"][name] = {"type": "string"}
    schema["properties"]["metadata"] = {"type": "object"}
    return f"{spec['names']['singular']}-{spec['group'].split('.')[0]}-{version['name']}", shared(schema)


def main(out: Path, kubernetes: Path, *files: Path) -> None:
    """Writes one file a kind."""
    made = {kind: of_kubernetes(kubernetes, kind) for kind in KINDS} | dict(map(of_definition, files))
    for name, schema in made.items():
        (out / f"{name}.json").write_text(json.dumps(schema, sort_keys=True, separators=(",", ":")) + "\n", "utf-8")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
