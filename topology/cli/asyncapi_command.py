"""`sluice asyncapi`: the AsyncAPI 3 document of all topics, made from the structs; no broker needed."""

from __future__ import annotations

from typing import Any

import click

from ..settings.settings import load_settings
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
    from .asyncapi_document import document

    write_document(document(load_settings(obj["config_file"], flags)))
