"""`sluice asyncapi`: the AsyncAPI 3 document of all topics, made from the structs; no broker needed."""

from __future__ import annotations

from typing import Any

import click

from ..settings import load_settings
from .standard import write_document


@click.command()
@click.option("--broker", metavar="URL", help="Kafka's address, which the document names.")
@click.option("--partitions", type=int, help="Partitions of every topic of the lane group.")
@click.option("--replication", type=int, help="Replication factor.")
@click.option("--topic-prefix", help="Put before every topic's name.")
@click.pass_obj
def asyncapi(obj: dict[str, Any], **flags: Any) -> None:
    """The AsyncAPI 3 document of all topics: addresses, keys, headers, settings, and the JSON Schema of each record.

    \b
    Example:
      sluice asyncapi --broker kafka://kafka.example.org:9092 > asyncapi.json
    """
    from ..asyncapi import document

    write_document(document(load_settings(obj["config_file"], flags)))
