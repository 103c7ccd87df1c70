"""`sluice policy`: checks a policy file, brings one into force, and shows the one that is."""

from __future__ import annotations

import sys
import time
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from ...codecs.errors import DoesNotHoldError, UsageError, printable
from ...streams.policy.policy_toml import PolicyError, Problem, load_policy, locate
from ..settings.files import read_file
from .options import broker, broker_settings, topic_prefix
from .standard_streams import say

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ...codecs.notes import Signer
    from ...streams.policy.policy import Policy
    from ..settings.settings import Settings

ASK_SECONDS = 0.5
PROFILES = ("development", "reference", "strict")
"""The policies that the package has, in the repository's folder `policies/`."""
MAX_POLICY = 1_000_000
"""Bytes of a policy file."""


def policy_text(name: str) -> str:
    """The text of a policy file, or of a profile that the package has (`PROFILES`).

    Raises:
        UsageError: the file cannot be read, or is too large.
    """
    hint = f"name a TOML file, or one of the profiles {', '.join(PROFILES[:-1])} and {PROFILES[-1]}"
    if name in PROFILES and not Path(name).exists():
        return (files("sluice.policies") / f"{name}.toml").read_text(encoding="utf-8")
    try:
        return read_file(name, MAX_POLICY, f"the policy {name!r}", hint).decode("utf-8")
    except UnicodeDecodeError:
        raise UsageError(f"cannot read the policy {name!r}: it is not UTF-8", hint=hint) from None


def warnings_of(policy: Policy, settings: Settings | None) -> list[tuple[str, str]]:
    """What is allowed but unwise: that a secret is wanted only where there is none."""
    has_secret = settings is not None and settings.privacy_secret is not None
    return [one for one in policy.warnings() if one[0] != "privacy" or not has_secret]


def policy_of(name: str) -> Policy:
    """The policy of a file, or a profile that the package has.

    Raises:
        UsageError: the file cannot be read, or is no policy.
    """
    return load_policy(policy_text(name), name)


def sound_policy(name: str, settings: Settings | None) -> Policy:
    """The policy of a file in which `sluice policy check` finds no error; what is unwise in it goes to standard error.

    Raises:
        UsageError: the file cannot be read, or has errors.
    """
    text = policy_text(name)
    found = load_policy(text, name)
    if problems := locate(text, found.problems()):
        raise PolicyError(name, problems)
    warn(name, text, warnings_of(found, settings))
    return found


def warn(name: str, text: str, found: Iterable[tuple[str, str]], severity: str = "warning") -> None:
    """Says on standard error what is found in the text of a policy's file, each with its line."""
    for line, path, sentence in locate(text, found):
        click.echo(printable(f"{name}:{line}: {severity}: {path + ': ' if path else ''}{sentence}"), err=True)


@click.group()
def policy() -> None:
    """Check a policy file, bring it into force, show the one in force."""


@policy.command()
@click.argument("file", type=click.Path(dir_okay=False))
@click.option("--json", "as_json", is_flag=True, help="One JSON line a finding.")
@click.pass_obj
def check(obj: dict[str, Any], file: str, as_json: bool) -> None:
    """Report every error of a policy FILE with its line, and what is allowed but unwise; exit 1 if there are errors.

    What a policy without such findings still leaves to one party is noted on standard error.

    \b
    Example:
      sluice policy check policy.toml
    """
    from ..settings.settings import load_settings

    text = policy_text(file)
    errors: list[Problem] = []
    warnings: list[Problem] = []
    digest = ""
    try:
        loaded = load_policy(text, file)
    except PolicyError as error:
        errors = error.problems
    else:
        errors, digest = locate(text, loaded.problems()), loaded.hash
        found = warnings_of(loaded, load_settings(obj["config_file"], {}))
        warnings = locate(text, found if errors else found + loaded.exposures())
        if not errors:  # beside the findings: nobody has to act on them
            warn(file, text, loaded.notes(), "note")
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


@policy.command()
@click.argument("file", type=click.Path(dir_okay=False))
@click.option(
    "--wait", type=click.FloatRange(0), default=0.0, metavar="SECONDS", help="Until every lane decides by it."
)
@click.option(
    "--key",
    "key_file",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Sign it with the private key in FILE.",
)
@broker
@topic_prefix
@click.pass_obj
def apply(obj: dict[str, Any], file: str, wait: float, key_file: Path | None, **flags: Any) -> None:
    """Bring the policy FILE into force: every lane takes it in with its next block, and decides by it from then on.

    Assertions that are under way keep the bounds that they started with. Prints the policy's hash.

    Where the policy in force lists keys under [policies.keys], one of them has to sign FILE (--key), and FILE needs a
    greater `sequence` under [policies]. Without that nothing is written, and lanes would refuse it.

    \b
    Example:
      sluice policy apply policy.toml --key operator.key --wait 10
    """
    import asyncio

    from ..engine.signing import load_signer

    settings = broker_settings(obj, flags)
    wanted = sound_policy(file, settings)
    signer = None if key_file is None else load_signer(key_file)
    asyncio.run(_apply(settings, wanted, signer))
    click.echo(wanted.hash)
    if wait:
        asyncio.run(_until_in_force(settings, wanted, wait))
    else:
        say("written; each lane takes it in with its next block (--wait SECONDS waits for it)")


async def _apply(settings: Settings, wanted: Policy, signer: Signer | None) -> None:
    """Writes a policy, if the one in force lets it follow.

    Raises:
        UsageError: it does not.
    """
    from ...codecs.errors import Fault
    from ...streams.policy.policy import HEADER, follow, sign
    from ..engine import policies
    from ..settings.process import now_ms

    before = await _in_force(settings)
    origin = wanted.origin if before is None else before.origin
    signature = None if signer is None else sign(wanted.document, signer, origin)
    headers = [] if signature is None else [(HEADER, signature)]
    found = follow(before, wanted.document, headers, now_ms())
    if isinstance(found, Fault):
        is_old = "sequence" in found.detail
        hint = "set a greater `sequence` under [policies] in the file" if is_old else "sign it with --key FILE"
        raise UsageError(f"the policy in force does not let this one follow: {found.detail}", hint=hint)
    await policies.apply(settings, wanted, signature)


async def _in_force(settings: Settings) -> Policy | None:
    """The policy that lanes decide by; of several one that lists keys. None where there is no ledger yet."""
    from ..engine.policies import document_of, in_force

    try:
        hashes = sorted({lane.hash for lane in await in_force(settings) if lane.hash})
    except UsageError:
        return None
    known = [policy for one in hashes if (policy := await document_of(settings, one)) is not None]
    return max(known, key=lambda one: (bool(one.policies.keys), one.policies.sequence), default=None)


async def _until_in_force(settings: Settings, wanted: Policy, seconds: float) -> None:
    import asyncio

    from ..engine.policies import in_force

    end = time.monotonic() + seconds
    while late := [lane for lane in await in_force(settings) if lane.hash != wanted.hash]:
        if time.monotonic() > end:
            names = ", ".join(str(lane.lane) for lane in late)
            raise DoesNotHoldError(
                f"not yet in force after {seconds:g} s in lane {names}", hint="a lane takes it in as soon as it runs"
            )
        await asyncio.sleep(ASK_SECONDS)
    say("in force in every lane")


@policy.command()
@click.option("--json", "as_json", is_flag=True, help="Each lane, its hash and the document, as one JSON object.")
@broker
@topic_prefix
@click.pass_obj
def show(obj: dict[str, Any], as_json: bool, **flags: Any) -> None:
    """Show the policy in force, as a file that can be changed and applied; exit 1 if lanes differ, or have none.

    Where the policy before it lists keys, the first line names who signed it.

    \b
    Example:
      sluice policy show > policy.toml
    """
    import asyncio

    if not asyncio.run(_show(broker_settings(obj, flags), as_json)):
        sys.exit(1)


async def _show(settings: Settings, as_json: bool) -> bool:
    from ...streams.policy.policy_toml import to_toml
    from ..engine.policies import document_of, in_force, refused_since, signer_of_policy

    lanes = await in_force(settings)
    hashes = sorted({lane.hash for lane in lanes if lane.hash})
    found = {digest: await document_of(settings, digest) for digest in hashes}
    signers = {digest: await signer_of_policy(settings, digest) for digest in hashes}
    refused = [] if len(hashes) != 1 or (only := found[hashes[0]]) is None else await refused_since(settings, only)
    if as_json:
        documents = {digest: None if one is None else msgspec.Raw(one.document) for digest, one in found.items()}
        value: dict[str, Any] = {"lanes": [lane._asdict() for lane in lanes], "policies": documents}
        value |= {"signed_by": signers, "refused": [record._asdict() for record in refused]}
        click.echo(msgspec.json.encode(value).decode())
    else:
        for digest, one in found.items():
            where = ", ".join(str(lane.lane) for lane in lanes if lane.hash == digest)
            signed = "" if signers[digest] is None else f", signed by {signers[digest]}"
            click.echo(printable(f"# {digest}, in force in lane {where}{signed}"))
            click.echo("# its document is not to be found\n" if one is None else to_toml(one), nl=False)
    for one in refused:
        say(f"the record policies/0/{one.offset} is not in force: {one.reason}: {one.detail}")
    without = [str(lane.lane) for lane in lanes if not lane.hash]
    if without:
        say(f"no ledger yet in lane {', '.join(without)}; a worker starts one")
    if len(hashes) > 1:
        say("the lanes do not decide alike: a policy is on its way, or a worker is away")
    return len(hashes) == 1 and not without and all(found.values())
