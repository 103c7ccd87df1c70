"""`sluice asyncapi`: the AsyncAPI 3 document of all topics, made from the records' structs and the topics' own words.

It is written from where sluice stands: it *receives* what producers write and *sends* what consumers read. The schemas
are the ones that `sluice schema` gives, in the draft of JSON Schema that AsyncAPI reads. No clock, no broker.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple, cast

import click
import msgspec

from ...codecs import records
from ..kafka.topics import TOPICS, TopicSpec, declared
from ..settings.process import version
from ..settings.settings import Settings, bootstrap, load_settings
from .options import partitions, replication, topic_prefix
from .standard_streams import write_document


@click.command()
@click.option("--broker", metavar="URL", help="Kafka's address, which the document names.")
@partitions
@replication
@topic_prefix
@click.pass_obj
def asyncapi(obj: dict[str, Any], **flags: Any) -> None:
    """The AsyncAPI 3 document of all topics: addresses, keys, headers, settings, and the JSON Schema of each record.

    \b
    Example:
      sluice asyncapi --broker kafka://kafka.example.org:9092 > asyncapi.json
    """
    write_document(document(load_settings(obj["config_file"], flags)))


VERSION: Final = "3.0.0"
_BINDING: Final = {"bindingVersion": "0.5.0"}
_SCHEMAS: Final = "#/components/schemas/"
_JSON, _MSGPACK, _BINARY, _TEXT = (
    "application/json",
    "application/vnd.msgpack",
    "application/octet-stream",
    "text/plain",
)


class Message(NamedTuple):
    """What stands on a topic.

    Attributes:
        summary: in one line.
        key: what the Kafka key is; empty where records have none.
        struct: of the record; None where it is no JSON of ours.
        content_type: of the value.
        headers: Kafka headers by name, each with what it holds.
    """

    summary: str
    key: str
    struct: type[msgspec.Struct] | None = None
    content_type: str = _JSON
    headers: Mapping[str, str] = {}


_TRACE: Final = {"traceparent": "W3C trace context, passed through"}
_EVENT: Final = {
    "ce_specversion": "CloudEvents, binary mode: 1.0",
    "ce_id": "the topic, a slash and the record's id",
    "ce_source": "the lane",
    "ce_type": "sluice, the topic and the status, with dots between them",
    "ce_time": "the block's time, RFC 3339",
    "content-type": "application/json",
    **_TRACE,
}
_LETTER: Final = {
    "sluice-reason": "why it could not be taken in, of a closed list",
    "sluice-detail": "one sentence with the path and what was expected",
    "sluice-source": "topic/partition/offset of the input",
}
_HOLDS: Final = "sluice.admitted and the status, a dot between them; only .admitted and .renewed hold"
_DECIDED: Final = "emission_id#span-key"

MESSAGES: Final[Mapping[str, Message]] = {
    "emissions": Message("One output of a language model with its assertions", "emission_id", records.Emission),
    "observations": Message("What an observer saw for an assertion", "subject.emission_id", records.Observation),
    "sightings": Message("What an observer saw who knows of no emission", "observation_id", records.Sighting),
    "citations": Message("An annotation that cites an observation id", "observation_id", records.Citation),
    "reviews": Message("A person's decision about an assertion", "emission_id", records.Review),
    "attestations": Message(
        "A validator's verdict on a claim; its text is untrusted", "claim_hash", records.Attestation
    ),
    "policies": Message("A policy document that comes into force in every lane", "the document's hash"),
    "admitted": Message(
        "A word on the admitted set; read it read_committed",
        _DECIDED,
        records.Admitted,
        headers={**_EVENT, "ce_type": _HOLDS},
    ),
    "inadmissible": Message("What was not admitted, and why", _DECIDED, records.Inadmissible, headers=_EVENT),
    "review-requests": Message("A reviewer is wanted, or no more", _DECIDED, records.ReviewRequest, headers=_EVENT),
    "re-emission-requests": Message("Another attempt is wanted", _DECIDED, records.ReEmissionRequest, headers=_EVENT),
    "verdicts": Message(
        "What became of each assertion of an emission, without any text",
        "emission_id",
        records.Verdicts,
        headers={
            **{name: meaning for name, meaning in _EVENT.items() if name not in _TRACE},
            "ce_id": "the topic, the lane, the block's height and the record's place in it, with slashes between them",
            "ce_type": "sluice.verdicts.settled, or sluice.verdicts.pending",
        },
    ),
    "grounded": Message("An attestation, sanitised and framed", "claim_hash", records.Grounded, headers=_TRACE),
    "review-leases": Message(
        "Who holds a request for review; the first of them wins, for as long as it says", _DECIDED, content_type=_JSON
    ),
    "dead-letters": Message(
        "An input that could not be taken in: raw bytes, quarantine", "the input's own", None, _BINARY, _LETTER
    ),
    "ledger": Message(
        "A lane's block: header and raw events. With the key `claim`, who took the lane over", "", None, _MSGPACK
    ),
    "bind-ledger": Message("A block of a lane that binds sightings", "", None, _MSGPACK),
    "frame-ledger": Message("A block of a lane that frames attestations", "", None, _MSGPACK),
    "checkpoints": Message("A signed statement of a lane's history (C2SP tlog-checkpoint)", "the lane", None, _TEXT),
    "bind-checkpoints": Message("The same of a lane that binds sightings", "the lane", None, _TEXT),
    "frame-checkpoints": Message("The same of a lane that frames attestations", "the lane", None, _TEXT),
}
"""Every topic's record, by the topic's logical name."""


def document(settings: Settings) -> dict[str, Any]:
    """The AsyncAPI document under these settings, JSON-ready.

    Args:
        settings: the brokers, prefix, partitions and replication that it names.
    """
    return {
        "asyncapi": VERSION,
        "info": {
            "title": "sluice",
            "version": version(),
            "description": (
                "Admits only those statements of language models that enough distinct kinds of fresh evidence bear "
                "out. Keys are partitioned by "
                + (
                    "CRC-32 (librdkafka's consistent)"
                    if settings.partitioner == "crc32"
                    else "murmur2 (Kafka's default)"
                )
                + "; the value of a topic's key is described with its message."
            ),
            "license": {"name": "Apache-2.0", "url": "https://www.apache.org/licenses/LICENSE-2.0"},
        },
        "defaultContentType": _JSON,
        "servers": {
            f"kafka-{number}": {"host": host, "protocol": "kafka", "bindings": {"kafka": dict(_BINDING)}}
            for number, host in enumerate(bootstrap(settings).split(","))
        },
        "channels": {name: _channel(settings, spec, MESSAGES[name]) for name, spec in TOPICS.items()},
        "operations": {
            _camel(action, name): {
                "action": action,
                "channel": {"$ref": f"#/channels/{name}"},
                "summary": MESSAGES[name].summary,
                "messages": [{"$ref": f"#/channels/{name}/messages/{name}"}],
            }
            for name, spec in TOPICS.items()
            for action in _actions(spec)
        },
        "components": {
            "messages": {name: _message(name, MESSAGES[name]) for name in TOPICS},
            "schemas": _schemas(),
        },
    }


def _actions(spec: TopicSpec) -> tuple[str, ...]:
    if spec.name == "citations" or spec.role in ("ledger", "control"):
        return "send", "receive"  # the lanes' own: they write and read them
    return ("receive",) if spec.role == "input" else ("send",)


def _camel(action: str, topic: str) -> str:
    return action + "".join(part.capitalize() for part in topic.split("-"))


def _channel(settings: Settings, spec: TopicSpec, message: Message) -> dict[str, Any]:
    topic: Any = declared(settings, spec)
    configuration: dict[str, Any] = {
        name: value.split(",") if name == "cleanup.policy" else int(value) if value.lstrip("-").isdecimal() else value
        for name, value in topic.topic_configs.items()
    }
    kafka = {
        "topic": topic.name,
        "partitions": topic.num_partitions,
        "replicas": topic.replication_factor,
        "topicConfiguration": configuration,
    }
    return {
        "address": topic.name,
        "description": message.summary,
        "messages": {spec.name: {"$ref": f"#/components/messages/{spec.name}"}},
        "bindings": {"kafka": kafka | _BINDING},
    }


def _message(name: str, message: Message) -> dict[str, Any]:
    found: dict[str, Any] = {
        "name": name,
        "title": message.summary,
        "contentType": message.content_type,
        "payload": _payload(message),
    }
    if message.headers:
        properties = {header: {"type": "string", "description": text} for header, text in message.headers.items()}
        found["headers"] = {"type": "object", "properties": properties}
    kafka: dict[str, Any] = {"key": {"type": "string", "description": message.key}} if message.key else {}
    return found | {"bindings": {"kafka": kafka | _BINDING}}


def _payload(message: Message) -> dict[str, Any]:
    if message.struct is not None:
        return {"$ref": _SCHEMAS + message.struct.__name__}
    if message.content_type == _JSON:
        return {"type": "object", "description": message.summary}
    text = message.content_type == _TEXT
    return {"type": "string", "description": message.summary} | ({} if text else {"format": "binary"})


def _schemas() -> dict[str, Any]:
    """Every struct that a topic's record is made of, by its name."""
    structs = {message.struct for message in MESSAGES.values() if message.struct is not None}
    ordered = sorted(structs, key=lambda struct: struct.__name__)
    _, found = msgspec.json.schema_components(ordered, ref_template=_SCHEMAS + "{name}")
    return {name: _draft_07(schema) for name, schema in sorted(found.items())}


def _draft_07(value: Any) -> Any:
    """A schema of JSON Schema 2020-12 in the draft that AsyncAPI takes: it has tuples as lists of `items`.

    OpenAPI's `discriminator` is another thing than AsyncAPI's, and says nothing that the tags of the alternatives,
    each an `enum` of one, do not say.
    """
    if isinstance(value, list):
        return [_draft_07(one) for one in cast("list[Any]", value)]
    if not isinstance(value, dict):
        return value
    schema = cast("dict[str, Any]", value)
    found = {name: _draft_07(one) for name, one in schema.items() if name != "discriminator" or isinstance(one, str)}
    if isinstance(found.get("prefixItems"), list):
        found["additionalItems"] = found.pop("items", True)
        found["items"] = found.pop("prefixItems")
    return found
