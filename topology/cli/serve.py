"""`sluice serve`: intake over HTTP, verdicts as they come, reviews, and the console."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ..settings.settings import load_settings
from .options import broker, log_level, topic_prefix

FILE = click.Path(dir_okay=False, path_type=Path)


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to bind to.")
@click.option("--port", type=click.IntRange(1, 65_535), default=8720, show_default=True, help="The port.")
@click.option("--view", type=FILE, help="The view's file [serve.sqlite in the state folder].")
@click.option("--tokens", type=FILE, help="The file of bearer tokens (`sluice mcp token`); without it, loopback only.")
@click.option("--tls-cert", type=FILE, help="The certificate, PEM.")
@click.option("--tls-key", type=FILE, help="Its private key, PEM.")
@click.option("--allowed-host", "hosts", multiple=True, metavar="NAME", help="A Host besides loopback; repeatable.")
@click.option(
    "--allowed-origin",
    "origins",
    multiple=True,
    metavar="URL",
    help="An Origin besides the service's own, such as a proxy's; repeatable.",
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
@broker
@topic_prefix
@log_level
@click.pass_context
def serve(
    ctx: click.Context,
    host: str,
    port: int,
    view: Path | None,
    tokens: Path | None,
    tls_cert: Path | None,
    tls_key: Path | None,
    hosts: tuple[str, ...],
    origins: tuple[str, ...],
    rate: float,
    session_key: Path | None,
    role: str,
    verifiers: tuple[str, ...],
    **flags: Any,
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
    """
    from ..mcp.door import Door
    from ..serve.running import Service, run_service
    from .proofs import read_verifier

    settings = load_settings(ctx.obj["config_file"], flags)
    door = Door(
        host=host,
        port=port,
        tokens=tokens,
        allowed_hosts=hosts,
        allowed_origins=origins,
        rate=rate,
        burst=max(1, round(2 * rate)),
        certificate=tls_cert,
        key=tls_key,
    )
    door.check()
    folder = Path(settings.state_dir)
    service = Service(
        door=door,
        view=view or folder / "serve.sqlite",
        session_key=session_key or folder / "serve-session.key",
        role=role,
        verifiers=[read_verifier(one) for one in verifiers],
    )
    run_service(settings, service)
