"""`sluice worker`: the lanes. `sluice faust`: Faust's own commands on our app."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from ...codecs.errors import UsageError
from ..settings.settings import Settings, load_settings
from .options import broker, log_level, partitions, topic_prefix
from .policy_command import policy_text

if TYPE_CHECKING:
    from ...streams.policy.policy import Policy


@click.command()
@click.option("--policy", metavar="FILE", help="Policy that starts a new ledger [the reference policy].")
@broker
@topic_prefix
@partitions
@click.option("--instance", metavar="NAME", help="Name as a static member of the group, such as the pod's.")
@click.option("--processes", type=click.IntRange(1, 256), default=1, show_default=True, help="Worker processes.")
@log_level
@click.pass_obj
def worker(obj: dict[str, Any], processes: int, **flags: Any) -> None:
    """Runs the lanes until Ctrl-C or SIGTERM.

    Workers share the lanes out among themselves; a ledger that is there keeps its own policy, whatever --policy says.

    \b
    Example:
      sluice worker --policy policy.toml --broker kafka://127.0.0.1:9092 --processes 4
    """
    from ..worker.processes import run_worker, run_workers

    settings = load_settings(obj["config_file"], flags)
    policy = read_policy(settings)
    if processes == 1:
        run_worker(settings, policy)
    else:
        sys.exit(run_workers(settings, policy, processes))


def read_policy(settings: Settings) -> Policy:
    """The policy of the settings' file, or the reference policy where none is named.

    Raises:
        UsageError: the file cannot be read, is no policy (all its errors at once), lists a key as signed by one that
            did not sign it, or needs a secret that is not set.
    """
    from ...streams.policy.policy import DEFAULT_POLICY
    from ...streams.policy.toml_reader import PolicyError, load_policy, locate

    if settings.policy is None:
        return DEFAULT_POLICY
    text = policy_text(settings.policy)
    policy = load_policy(text, settings.policy)
    if false := locate(text, policy.false_successors()):
        raise PolicyError(settings.policy, false)
    if policy.privacy.hashes and settings.privacy_secret is None:
        # Left out they could be for good reason; but then the policy says so. Lanes of a worker that forgot its secret
        # would leave out what the others hash, and what was left out nobody can put back.
        raise UsageError(
            "the policy hashes identifiers, and there is no secret to hash them with",
            path=settings.policy,
            hint='set privacy_secret (SLUICE_PRIVACY_SECRET), or say "omitted"',
        )
    return policy


@click.command(
    context_settings={"ignore_unknown_options": True, "help_option_names": [], "allow_interspersed_args": False}
)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.pass_obj
def faust(obj: dict[str, Any], arguments: tuple[str, ...]) -> None:
    """Faust's own commands on our app.

    \b
    Example:
      sluice faust agents
      sluice faust --help
    """
    from faust.cli.faust import cli

    from ..worker.app import create_app

    settings = load_settings(obj["config_file"], {})
    app = create_app(settings, policy=read_policy(settings))
    app.finalize()
    cli.epilog = "\b\nExample:\n  sluice faust agents"  # of its --help, which is Faust's own
    cli.main(args=list(arguments), prog_name="sluice faust", app=app)
