"""`sluice sanitise` and `sluice canonical-hash`: the attestation contract [V] as filters."""

from __future__ import annotations

from typing import Any, Literal

import click

from ...codecs import canonical
from ...codecs.errors import Fault
from ...streams.sanitise import AttestationRules, By, Confusables, frame_attestation
from .standard_streams import files_argument, run_filter


@click.command()
@click.option(
    "--typing",
    type=click.Choice(["strict", "lenient"]),
    default="strict",
    show_default=True,
    help="strict refuses text that is not plain text; lenient leaves that to the pipeline.",
)
@click.option(
    "--confusables",
    type=click.Choice(["reject", "replace", "flag"]),
    default="replace",
    show_default=True,
    help="What characters that look like ASCII ones lead to.",
)
@click.option(
    "--confusables-by",
    type=click.Choice(["letter", "word"]),
    default="letter",
    show_default=True,
    help="Which of them are meant: each one, or those in words of mixed scripts.",
)
@files_argument
def sanitise(
    files: tuple[str, ...], typing: Literal["strict", "lenient"], confusables: Confusables, confusables_by: By
) -> None:
    """Sanitises and frames attestations, one JSON object a line.

    An attestation that is refused is answered with an error, mistyped or confusable-text, and the exit status is 1 in
    the end. A refused URI is no error: it becomes null, and _meta.uris_rejected says why. The consensus domain must be
    in the default registry (scientific-default).

    \b
    Example:
      sluice sanitise --confusables reject attestations.jsonl
    """
    rules = AttestationRules(typing=typing, confusables_default=confusables, confusables_by_default=confusables_by)
    run_filter(files, lambda line: frame_attestation(line, rules))


@click.command("canonical-hash")
@files_argument
def canonical_hash(files: tuple[str, ...]) -> None:
    """The canonical hash of JSON objects, one a line.

    Version 0.3 settles Unicode first (NFKC, look-alikes, invisible characters); an object whose
    canonicalisation_version says "0.2" is hashed without that.

    \b
    Example:
      echo '{"rationale": "It holds."}' | sluice canonical-hash
    """
    run_filter(files, _hash)


def _hash(line: bytes) -> dict[str, Any] | Fault:
    try:
        value = canonical.parse_json(line)
        if not isinstance(value, dict):
            return Fault("schema", f"$: expected a JSON object, got {_kind(value)}")
        hashed, version = canonical.canonical_hash(value)
    except canonical.NotJsonError as error:
        return Fault("not-json", str(error))
    except canonical.CanonicalError as error:
        return Fault("schema", f"$: {error}")
    return {"canonical_hash": hashed, "canonicalisation_version": version}


def _kind(value: Any) -> str:
    if isinstance(value, list):
        return "an array"
    return "a string" if isinstance(value, str) else "null, a number or a boolean"
