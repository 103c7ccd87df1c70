"""`sluice serve` and `sluice mcp`: the HTTP service with its console, and the Model Context Protocol."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from ...codecs.errors import UsageError, printable
from ...codecs.times import format_time, parse_duration
from ..settings.process import now_ms
from ..settings.settings import Settings, load_settings
from .options import broker, door_of, log_level, topic_prefix
from .standard_streams import say

if TYPE_CHECKING:
    from ..http.sign_in import Provider

FILE = click.Path(dir_okay=False, path_type=Path)


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to bind to.")
@click.option("--port", type=click.IntRange(1, 65_535), default=8720, show_default=True, help="The port.")
@click.option("--view", type=FILE, help="The view's file [serve.sqlite in the state folder].")
@click.option("--tokens", type=FILE, help="The file of bearer tokens (`sluice mcp token`); without it, loopback only.")
@click.option("--tls-cert", "certificate", type=FILE, help="The certificate, PEM.")
@click.option("--tls-key", "key", type=FILE, help="Its private key, PEM.")
@click.option(
    "--allowed-host", "allowed_hosts", multiple=True, metavar="NAME", help="A Host besides loopback; repeatable."
)
@click.option(
    "--allowed-origin",
    "allowed_origins",
    multiple=True,
    metavar="URL",
    help="An Origin besides the service's own, such as a proxy's; repeatable.",
)
@click.option(
    "--public-url",
    metavar="URL",
    help="How browsers reach it, where a proxy ends TLS or people sign in with OIDC: its Host and Origin are allowed.",
)
@click.option("--oidc-issuer", metavar="URL", help="The identity provider (OpenID Connect) at which people sign in.")
@click.option("--oidc-client-id", metavar="ID", help="Our client id there.")
@click.option("--oidc-client-secret-file", type=FILE, help="A file with our secret there; a public client has none.")
@click.option(
    "--oidc-allow",
    "rules",
    multiple=True,
    metavar="CLAIM=VALUE:SCOPES",
    help="Whoever has this value in this claim has these scopes, such as `groups=reviewers:read,review`; repeatable.",
)
@click.option(
    "--oidc-scope",
    "asked",
    default="openid profile email",
    show_default=True,
    help="What the provider is asked for.",
)
@click.option(
    "--rate", type=click.FloatRange(0.1), default=50.0, show_default=True, help="Requests/s of one token or address."
)
@click.option(
    "--session-key",
    type=FILE,
    help="The key of sessions, which replicas share [serve-session.key in the state folder].",
)
@click.option(
    "--role", default="sluice-serve", show_default=True, help="Whose key signs reviews (`[reviewers.roles]`)."
)
@click.option(
    "--verifier", "verifiers", metavar="KEY", multiple=True, help="Signs proofs; `sluice key show` prints it."
)
@click.option("--audit", type=FILE, help="What `sluice audit --json` wrote last; the insight page tells it.")
@broker
@topic_prefix
@log_level
@click.pass_context
def serve(
    ctx: click.Context,
    view: Path | None,
    public_url: str | None,
    oidc_issuer: str | None,
    oidc_client_id: str | None,
    oidc_client_secret_file: Path | None,
    rules: tuple[str, ...],
    asked: str,
    session_key: Path | None,
    role: str,
    verifiers: tuple[str, ...],
    audit: Path | None,
    **given: Any,
) -> None:
    """Takes emissions, attestations and observations over HTTP, and shows people what becomes of them.

    A record is validated as `sluice produce` does, and acknowledged only when Kafka has it. At `/` is the console, with
    the queue of reviews; where `producer_key` is set, it signs them for the reviewer. Without a file of tokens only
    this machine may ask; `sluice mcp token new --scope emit` makes a token. The view is a file that follows the broker
    in the background; it can be lost.

    \b
    Example:
      sluice serve
      sluice mcp token new --tokens tokens.json --name app-1 --scope emit
      sluice serve --host 0.0.0.0 --tokens tokens.json --allowed-host sluice.example \\
        --tls-cert cert.pem --tls-key key.pem
      sluice serve --tokens tokens.json --public-url https://sluice.example \\
        --oidc-issuer https://login.example --oidc-client-id sluice --oidc-allow groups=reviewers:read,review
    """
    from ..http.service_process import Service, run_service
    from .proof_commands import read_verifier

    provider = _provider(public_url, oidc_issuer, oidc_client_id, oidc_client_secret_file, rules, asked)
    if public_url is not None:
        name, origin = _place_of(public_url)
        given["allowed_hosts"] += (name,)
        given["allowed_origins"] += (origin,)
    door = door_of(given)
    settings = load_settings(ctx.obj["config_file"], given)
    folder = Path(settings.state_dir)
    service = Service(
        door=door,
        view=view or folder / "serve.sqlite",
        session_key=session_key or folder / "serve-session.key",
        role=role,
        verifiers=[read_verifier(one, "--verifier") for one in verifiers],
        provider=provider,
        audit=audit,
    )
    service.check()
    run_service(settings, service)


def _place_of(url: str) -> tuple[str, str]:
    """The Host and the Origin of a URL."""
    from urllib.parse import urlsplit

    from ..http.sign_in import is_safe

    if not is_safe(url) or urlsplit(url).path not in ("", "/"):
        raise UsageError(
            "no URL that is safe", path="--public-url", expected="https://NAME, or http:// on loopback", got=url
        )
    parts = urlsplit(url)
    return parts.netloc, f"{parts.scheme}://{parts.netloc}"


def _provider(
    public_url: str | None,
    issuer: str | None,
    client_id: str | None,
    secret_file: Path | None,
    rules: tuple[str, ...],
    asked: str,
) -> Provider | None:
    """The identity provider that the flags name; None where they name none."""
    from ..http.sign_in import Provider, parse_rule

    if issuer is None:
        if client_id or secret_file or rules:
            raise UsageError("which identity provider?", path="--oidc-issuer", expected="its URL")
        return None
    if public_url is None:
        raise UsageError("the provider has to send people back", path="--public-url", expected="how browsers reach us")
    if "openid" not in asked.split():
        raise UsageError("the provider would give no ID token", path="--oidc-scope", expected="openid among them")
    try:
        secret = "" if secret_file is None else secret_file.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"the secret cannot be read: {error}", path=str(secret_file)) from None
    if secret_file is not None and not secret:
        raise UsageError("this file holds no secret", path=str(secret_file))
    return Provider(issuer, client_id or "", secret, public_url, [parse_rule(one) for one in rules], asked)


SCOPES = ("ground", "check_assertion", "explain", "resources")
"""As `mcp_server.SCOPES`, which would bring the SDK with it."""
SERVICE_SCOPES = ("emit", "read", "review", "admin")
"""As `auth_middleware.SCOPES`: what `sluice serve` asks for."""
NEVER = "never"


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
    from ..http.adapter_process import run_adapter

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
    from ..http.tokens import new_token

    after = None if expires == NEVER else parse_duration(expires)
    if expires != NEVER and not after:
        expected = "one such as 90d or 12h, or never"
        raise UsageError("not a duration", path="--expires", expected=expected, got=expires)
    text, made = new_token(
        _file(ctx, tokens), name, tuple(dict.fromkeys(scopes)) or SCOPES, None if after is None else now_ms() + after
    )
    click.echo(text)
    end = ", which never ends" if made.expires_at is None else f", until {format_time(made.expires_at)}"
    say(f"token {made.id} for {', '.join(made.scopes)}{end}; it is not shown again")


@token.command("list")
@_tokens
@click.pass_context
def list_(ctx: click.Context, tokens: Path | None) -> None:
    """List the tokens as JSON lines, without their hashes.

    \b
    Example:
      sluice mcp token list --tokens tokens.json
    """
    from ..http.tokens import described, read_tokens

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
    from ..http.tokens import revoke as end

    say(f"token {end(_file(ctx, tokens), id_).id} is revoked")
