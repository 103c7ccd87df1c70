"""`sluice mcp`: the grounding adapter. `sluice mcp token`: the bearer tokens of its HTTP transport."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click
import msgspec

from ...codecs.errors import UsageError, printable
from ...codecs.times import format_time, parse_duration
from ..settings.clock import now_ms
from ..settings.settings import Settings, load_settings
from .options import broker, door_of, log_level, topic_prefix

SCOPES = ("ground", "check_assertion", "explain", "resources")
"""As `mcp.server.SCOPES`, which would bring the SDK with it."""
SERVICE_SCOPES = ("emit", "read", "review", "admin")
"""As `serve.access.SCOPES`: what `sluice serve` asks for."""
NEVER = "never"
FILE = click.Path(dir_okay=False, path_type=Path)


@click.group(invoke_without_command=True)
@click.option(
    "--transport",
    type=click.Choice(("stdio", "http")),
    default="stdio",
    show_default=True,
    help="How clients ask. http reads tokens only where --tokens names their file.",
)
@click.option("--host", default="127.0.0.1", show_default=True, help="HTTP: the address to bind to.")
@click.option("--port", type=click.IntRange(1, 65_535), default=8710, show_default=True, help="HTTP: the port.")
@click.option("--view", type=FILE, help="The view's file [mcp.sqlite in the state folder].")
@click.option("--tokens", type=FILE, help="HTTP: the file of bearer tokens; without it, loopback only.")
@click.option("--tls-cert", "certificate", type=FILE, help="HTTP: the certificate, PEM.")
@click.option("--tls-key", "key", type=FILE, help="HTTP: its private key, PEM.")
@click.option(
    "--allowed-host", "allowed_hosts", multiple=True, metavar="NAME", help="HTTP: a Host besides loopback; repeatable."
)
@click.option(
    "--allowed-origin",
    "allowed_origins",
    multiple=True,
    metavar="URL",
    help="HTTP: an Origin besides loopback's; repeatable.",
)
@click.option(
    "--rate", type=click.FloatRange(0.1), default=20.0, show_default=True, help="HTTP: requests/s of a client."
)
@broker
@topic_prefix
@log_level
@click.pass_context
def mcp(ctx: click.Context, transport: str, view: Path | None, **given: Any) -> None:
    """Answers language models over the Model Context Protocol: what is attested, what is admitted, and why.

    The view of `grounded` and `admitted` is a file that follows the broker in the background; while it catches up,
    answers say so. It can be lost: it is read again from the topics.

    \b
    Example:
      sluice mcp
      sluice mcp token new --tokens tokens.json --name lab-1 --scope ground
      sluice mcp --transport http --host 0.0.0.0 --tokens tokens.json --allowed-host sluice.example \\
        --tls-cert cert.pem --tls-key key.pem
    """
    if ctx.invoked_subcommand is not None:
        return
    from ..mcp.adapter_process import run_adapter

    door = door_of(given)
    settings = load_settings(ctx.obj["config_file"], given)
    if transport == "http":
        door.check()
    run_adapter(settings, view or _default(settings, "mcp.sqlite"), door if transport == "http" else None)


def _default(settings: Settings, name: str) -> Path:
    return Path(settings.state_dir) / name


@mcp.group()
def token() -> None:
    """Make, list and revoke bearer tokens. The file holds their hashes; a running server reads it again at once.

    \b
    Example:
      sluice mcp token new --tokens tokens.json --name lab-1 --scope ground
    """


_tokens = click.option("--tokens", type=FILE, help="The file of tokens [mcp-tokens.json in the state folder].")


def _file(ctx: click.Context, tokens: Path | None) -> Path:
    return tokens or _default(load_settings(ctx.obj["config_file"], {}), "mcp-tokens.json")


@token.command()
@_tokens
@click.option("--name", required=True, help="Who it is for.")
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    type=click.Choice((*SCOPES, *SERVICE_SCOPES)),
    help=f"What it is for; repeatable [{', '.join(SCOPES)}]. The last four are for `sluice serve`.",
)
@click.option(
    "--expires", metavar="DURATION", default="90d", show_default=True, help="After so long, such as 12h; or: never."
)
@click.pass_context
def new(ctx: click.Context, tokens: Path | None, name: str, scopes: tuple[str, ...], expires: str) -> None:
    """Make a token and print it, once: only its hash is kept.

    A server reads the file only where `sluice mcp --transport http --tokens FILE` names it, the default one too.

    \b
    Example:
      sluice mcp token new --name lab-1 --scope ground --scope check_assertion --expires 90d
    """
    from ..mcp.tokens import new_token

    after = None if expires == NEVER else parse_duration(expires)
    if expires != NEVER and not after:
        expected = "one such as 90d or 12h, or never"
        raise UsageError("not a duration", path="--expires", expected=expected, got=expires)
    text, made = new_token(
        _file(ctx, tokens), name, tuple(dict.fromkeys(scopes)) or SCOPES, None if after is None else now_ms() + after
    )
    click.echo(text)
    end = ", which never ends" if made.expires_at is None else f", until {format_time(made.expires_at)}"
    click.echo(f"sluice: token {made.id} for {', '.join(made.scopes)}{end}; it is not shown again", err=True)


@token.command("list")
@_tokens
@click.pass_context
def list_(ctx: click.Context, tokens: Path | None) -> None:
    """List the tokens as JSON lines, without their hashes.

    \b
    Example:
      sluice mcp token list --tokens tokens.json
    """
    from ..mcp.tokens import described, read_tokens

    for one in read_tokens(_file(ctx, tokens)):
        sys.stdout.write(printable(msgspec.json.encode(described(one, now_ms())).decode()) + "\n")


@token.command()
@_tokens
@click.argument("id_", metavar="ID")
@click.pass_context
def revoke(ctx: click.Context, tokens: Path | None, id_: str) -> None:
    """End the token of an ID at once.

    \b
    Example:
      sluice mcp token revoke --tokens tokens.json 0a1b2c3d4e5f
    """
    from ..mcp.tokens import revoke as end

    click.echo(f"sluice: token {end(_file(ctx, tokens), id_).id} is revoked", err=True)
