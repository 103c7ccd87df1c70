"""`sluice policy check`: everything that is wrong or unwise in a policy file, at once, by line."""

from __future__ import annotations

import sys
from pathlib import Path

import click
import msgspec

from ...codecs.errors import UsageError, printable
from ...streams.policy_file import PolicyError, Problem, load_policy, locate


def policy_text(name: str) -> str:
    """The text of a policy file.

    Raises:
        UsageError: the file cannot be read.
    """
    try:
        return Path(name).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise UsageError(f"cannot read the policy {name!r}: {why}", hint="name a TOML file") from None


@click.group()
def policy() -> None:
    """Check a policy file."""


@policy.command()
@click.argument("file", type=click.Path(dir_okay=False))
@click.option("--json", "as_json", is_flag=True, help="One JSON line a finding.")
def check(file: str, as_json: bool) -> None:
    """Report every error of a policy FILE with its line, and what is allowed but unwise; exit 1 if there are errors.

    \b
    Example:
      sluice policy check policy.toml
    """
    text = policy_text(file)
    errors: list[Problem] = []
    warnings: list[Problem] = []
    digest = ""
    try:
        loaded = load_policy(text, file)
    except PolicyError as error:
        errors = error.problems
    else:
        errors, warnings, digest = locate(text, loaded.problems()), locate(text, loaded.warnings()), loaded.hash
    for severity, found in (("error", errors), ("warning", warnings)):
        for line, path, sentence in found:
            if as_json:
                value = {"line": line, "severity": severity, "path": path, "sentence": sentence}
                click.echo(msgspec.json.encode(value).decode())
            else:
                click.echo(printable(f"{file}:{line}: {severity}: {path + ': ' if path else ''}{sentence}"))
    if errors:
        sys.exit(1)
    if not as_json:
        click.echo(f"{file}: ok, {digest}")
