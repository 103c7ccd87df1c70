"""`sluice prove` and `sluice verify`: proofs for third parties. `sluice key`: keys that checkpoints are signed with."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from ...codecs.errors import DoesNotHoldError, SluiceError, UsageError
from ..settings.files import open_plain
from .options import broker, broker_settings, topic_prefix
from .standard_streams import say, shown_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...codecs.notes import Verifier
    from ..audit.proofs import ConsistencyProof, Proof
    from ..engine.trust import TrustedKey
    from ..settings.settings import Settings

PROGRESS_SECONDS = 2.0
ASK_ANEW = "do not rely on it; see that file and key are the right ones, or ask for a new proof"


@click.command()
@click.argument("ids", nargs=-1, required=True, metavar="ID | --consistency OLD [NEW]")
@click.option("--consistency", is_flag=True, help="Prove that one checkpoint's history is the beginning of another's.")
@click.option("--lane", type=click.IntRange(0), help="Look in this lane [where the key belongs].")
@click.option(
    "--ledger",
    type=click.Choice(["ledger", "bind-ledger", "frame-ledger"]),
    default="ledger",
    show_default=True,
    help="Whose history: of emissions, of sightings, of attestations.",
)
@click.option("--offline", metavar="DIR", type=click.Path(file_okay=False), help="Read an export, not a broker.")
@click.option("--out", metavar="FILE", type=click.Path(dir_okay=False), help="Write the proof there.")
@broker
@topic_prefix
@click.pass_obj
def prove(
    obj: dict[str, Any],
    ids: tuple[str, ...],
    consistency: bool,
    lane: int | None,
    ledger: str,
    offline: str | None,
    out: str | None,
    **flags: Any,
) -> None:
    """Writes a small file that shows, to whoever has the lane's key, that a record stands in its history.

    ID is that of an emission (its first input record), one with # and a span key (the last verdict about that
    assertion), or an output record's own `id`. With --consistency, OLD and NEW are two checkpoints' sizes in blocks;
    NEW is the newest where it is left out. Of another --ledger, ID is the key of an input: a claim's hash of an
    attestation, an observation's id of a sighting.

    \b
    Example:
      sluice prove em-7f3a#c:0-43 --out proof.json
      sluice prove 0x5f…9e --ledger frame-ledger
      sluice prove --consistency 100 4712 --lane 2 --offline export/
    """
    from ..audit.proofs import render

    settings = broker_settings(obj, flags)
    sizes = _sizes(ids) if consistency else []
    if not consistency and len(ids) != 1:
        raise UsageError("one ID at a time", got=" ".join(ids), hint="two numbers go with --consistency")
    if out is not None and os.path.lexists(out):
        what = "there is a file already, and a proof never overwrites one"
        raise UsageError(what, path=out, hint="name another file")
    folder = None if offline is None else Path(offline)
    proof = asyncio.run(_prove(settings, folder, ledger, lane, ids[0], sizes))
    data = render(proof)
    if out is None:
        sys.stdout.buffer.write(data)
        return
    try:
        with open(out, "xb") as file:
            file.write(data)
    except OSError as error:
        raise UsageError(f"the proof cannot be written: {error.strerror}", path=out) from None
    say(f"{len(data)} bytes in {out}; `sluice verify {out} --key KEY` checks them")


def _sizes(ids: tuple[str, ...]) -> list[int]:
    if len(ids) > 2 or not all(one.isascii() and one.isdecimal() and len(one) < 19 for one in ids):
        raise UsageError("not checkpoints' sizes", path="--consistency", expected="one or two", got=" ".join(ids))
    return [int(one) for one in ids]


async def _prove(
    settings: Settings, folder: Path | None, ledger: str, lane: int | None, name: str, sizes: list[int]
) -> Proof | ConsistencyProof:
    from ..audit.proving import DEFAULT, FOLDS, LedgerLogs, prove, prove_consistency, prove_input
    from ..engine.stored_topics import open_logs

    async with open_logs(settings, folder) as logs:
        with _ReadingProgress() as progress:
            if ledger != DEFAULT:
                logs = LedgerLogs(logs, ledger)
            if sizes:
                return await prove_consistency(logs, lane, *sizes, progress=progress)
            if ledger != DEFAULT:
                return await prove_input(logs, name, FOLDS[ledger].inputs, lane, progress)
            return await prove(logs, name, lane, progress)


class _ReadingProgress:
    """How far the reading has come, on standard error: one line that changes on a terminal, a line now and then else.

    How far there is to go is not known before it is found.
    """

    def __init__(self) -> None:
        self._at = time.monotonic() + PROGRESS_SECONDS
        self._is_terminal, self._written = sys.stderr.isatty(), False

    def __call__(self, lane: int, height: int, offset: int) -> None:
        if time.monotonic() < self._at:
            return
        self._at = time.monotonic() + (0.2 if self._is_terminal else PROGRESS_SECONDS)
        line = f"sluice: reading lane {lane}, block {height}"
        self._written = self._is_terminal
        click.echo(f"\r\x1b[K{line}" if self._is_terminal else line, nl=not self._is_terminal, err=True)

    def __enter__(self) -> _ReadingProgress:
        return self

    def __exit__(self, *_: object) -> None:
        if self._written:
            click.echo("\r\x1b[K", nl=False, err=True)


@click.command()
@click.argument("file", type=click.Path(dir_okay=False, allow_dash=True))
@click.option("--key", "keys", metavar="KEY", multiple=True, help="Believe this verifier, or a file's; repeatable.")
@click.option("--policy", "policy_file", metavar="FILE", help="Believe its checkpoint keys, each in its time.")
@click.option("--json", "as_json", is_flag=True, help="What was shown as one JSON object.")
def verify(file: str, keys: tuple[str, ...], policy_file: str | None, as_json: bool) -> None:
    """Checks the proof in FILE from itself and a KEY alone; says what it shows, or which step does not hold (exit 1).

    With --policy the keys under [checkpoints.keys] of a policy's file are believed, each in its own time. Take the file
    from where you trust it.

    The verifier is what `sluice key show` prints, and must come from whom you trust, not with the proof. Where there
    are several, a signature by one of them is enough, and who signed is told; none of theirs may be wrong.

    \b
    Example:
      sluice verify proof.json --key sluice/prod+0a1b2c3d+AbC…
    """
    from ..audit.proofs import parse_proof
    from ..audit.proofs import verify as verify_proof

    if not keys and policy_file is None:
        raise UsageError("nobody is named whose signature counts", expected="--key KEY, or --policy FILE")
    verifiers = [read_verifier(key) for key in keys]
    listed = () if policy_file is None else listed_keys(policy_file)
    data = _read(file)
    try:
        shown, signers = verify_proof(parse_proof(data), verifiers, listed)
    except DoesNotHoldError as error:
        in_file = _of_file(file, error)
        if as_json:
            _print({"holds": False, "why": str(in_file)})
        raise in_file from None
    if as_json:
        _print({"holds": True, **shown.as_json(), "signed_by": [str(one) for one in signers]})
    else:
        limit = f"; {shown.limit}" if shown.limit else ""
        click.echo(f"holds: {shown.subject}, signed by {' and '.join(map(str, signers))}{limit}")


def _of_file(file: str, error: DoesNotHoldError) -> DoesNotHoldError:
    """The error with the file's name before it, and what to do."""
    name = shown_name(file)
    hint = f"{error.hint}: {ASK_ANEW}" if error.hint else ASK_ANEW
    path = f"{name}: {error.path}" if error.path else name
    return DoesNotHoldError(error.what, path=path, expected=error.expected, got=error.got, hint=hint)


def _print(value: dict[str, Any]) -> None:
    from ..settings.showing import escaped

    click.echo(escaped(msgspec.json.encode(value).decode()))


def _read(file: str) -> bytes:
    from ..audit.proofs import MAX_FILE

    try:
        if file == "-":
            data = sys.stdin.buffer.read(MAX_FILE + 1)
        else:
            with open_plain(file) as stream:
                data = stream.read(MAX_FILE + 1)
    except OSError as error:
        hint = "name a file that `sluice prove … --out` has written"
        raise UsageError(f"the proof cannot be read: {error.strerror}", path=file, hint=hint) from None
    if len(data) > MAX_FILE:
        too_long = DoesNotHoldError("this is no proof: it is too long", expected=f"{MAX_FILE} bytes at most")
        raise _of_file(file, too_long)
    return data


def read_verifier(given: str, option: str = "--key") -> Verifier:
    """The verifier of an argument: its text, or that of the file that it names.

    Args:
        given: the argument.
        option: whose argument it is, for the sentence about a wrong one.

    Raises:
        UsageError: it is neither; a private key is not quoted.
    """
    from ...codecs.notes import MAX_KEY, Verifier

    path, text = Path(given), given
    try:
        if path.is_file():
            with open(path, encoding="utf-8") as file:
                text = file.read(MAX_KEY)
        return Verifier.parse(text)
    except (OSError, ValueError) as error:  # also a name that no file can have
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise UsageError(f"the key cannot be read: {why}", path=given[:80]) from None
    except SluiceError as error:
        hint = error.hint or "name a verifier, or a file that holds one; `sluice key show` prints it"
        raise UsageError(error.what, path=option, expected=error.expected, got=error.got, hint=hint) from None


def listed_keys(policy_file: str) -> Sequence[TrustedKey]:
    """The checkpoint keys of a policy's file.

    Raises:
        UsageError: the file cannot be read, is no policy, or lists no such key.
    """
    from ..engine.trust import listed
    from .filter_commands import read_policy

    keys = listed(read_policy(policy_file))
    if not keys:
        raise UsageError("the policy lists no key for checkpoints", path=policy_file, expected="[checkpoints.keys]")
    return keys


@click.group()
def key() -> None:
    """Keys that checkpoints and records are signed with: make one or all that a profile needs, show a verifier."""


@key.command()
@click.argument("name")
@click.option(
    "--out", metavar="FILE", type=click.Path(dir_okay=False), default="signing.key", show_default=True, help="Where to."
)
def new(name: str, out: str) -> None:
    """Makes a private key of this NAME in a new file (mode 0600), and prints its verifier, which is for everybody.

    Inside a git checkout it warns, and a .gitignore beside the key keeps it from being committed.

    \b
    Example:
      sluice key new sluice/prod --out /etc/sluice/signing.key > sluice-prod.pub
    """
    from ..engine.signing import new_signer, save_signer

    signer = new_signer(name)
    checkout = save_signer(signer, Path(out))
    click.echo(str(signer.verifier))
    say(f"the private key is in {out}; its verifier is what others need")
    if checkout is not None:
        what = f"{out} lies inside the git checkout {checkout}"
        say(f"warning: {what}; a .gitignore beside it names it now, a place outside is safer")


@key.command()
@click.argument("old", metavar="OLD", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--out", metavar="FILE", required=True, type=click.Path(dir_okay=False, path_type=Path), help="Where to.")
@click.option("--as", "listed_as", metavar="NAME", help="The name that the policy lists both under [the key's].")
@click.option("--since", metavar="TIME", help="From when on the new key counts (RFC 3339).")
@click.pass_obj
def succeed(obj: dict[str, Any], old: Path, out: Path, listed_as: str | None, since: str | None) -> None:
    """Makes a new private key in a new file, signed by the key in the file OLD, and prints its entry for the policy.

    The entry stands beside that of the old key, under the same name. The old key's signature shows that its owner made
    the new one; it holds in one deployment (origin) and for one name.

    \b
    Example:
      sluice key succeed signing.key --out signing-2.key --since 2027-01-01T00:00:00Z
    """
    import base64

    from ...codecs.signatures import public_key_of
    from ...codecs.times import EXPECTED, format_time, parse_time
    from ...streams.policy.keys import Key, succession_bytes
    from ...streams.policy.policy_toml import key_entry
    from ..engine.signing import load_signer, new_signer, save_signer
    from ..settings.settings import load_settings

    moment = None if since is None else parse_time(since)
    if since is not None and moment is None:
        raise UsageError("not a time", path="--since", expected=EXPECTED, got=since)
    before = load_signer(old)
    after, name = new_signer(before.verifier.name), listed_as or before.verifier.name
    public_key, signed_by = (public_key_of(str(one.verifier)) or "" for one in (after, before))
    signature = before.sign_bytes(succession_bytes(name, public_key, load_settings(obj["config_file"], {}).origin))
    entry = Key(
        public_key=public_key, since=moment, signed_by=signed_by, signature=base64.b64encode(signature).decode()
    )
    save_signer(after, out)
    click.echo(key_entry(entry))
    until = f', and until = "{format_time(moment)}" into that one' if moment is not None else ""
    what = f"put this beside the key {signed_by} of {name!r} in the policy{until}"
    say(f"the private key is in {out}; {what}")


def _names(flag: str, whose: str) -> Any:
    name = f"{flag[2:].replace('-', '_')}s"
    return click.option(flag, name, metavar="NAME", multiple=True, help=f"{whose}; may be repeated.")


@key.command()
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
@_names("--worker", "A worker, by the name of its key in checkpoints")
@_names("--observer", "An observer")
@_names("--emitter", "An emitter, as emitter.system names it")
@_names("--internal-emitter", "The same, of internal effect")
@_names("--reviewer", "A reviewer with a key of their own")
@_names("--role", "A service that signs for reviewers")
@_names("--validator", "A validator, by its DID; another name gets the did:key of its key")
@_names("--operator", "An operator, who signs each further policy")
@click.option(
    "--policy", "base", metavar="FILE", default="strict", show_default=True, help="The policy that gets the keys."
)
@click.option("--apart", is_flag=True, help="Each file in a folder of its own, to be handed out as volumes.")
@click.pass_obj
def profile(obj: dict[str, Any], folder: Path, base: str, apart: bool, **names: tuple[str, ...]) -> None:
    """Makes the keys of those who sign under the strict profile, and FOLDER/policy.toml, which lists them.

    Where the policy hashes identifiers it makes FOLDER/privacy-secret as well, for the workers.

    What is there already stays, keys and secret. So the command may run at every start: it makes what is missing, and
    writes the same policy again. With --apart the files are FOLDER/KIND-NAME/private.key, FOLDER/policy/policy.toml and
    FOLDER/privacy/privacy-secret.

    \b
    Example:
      sluice key profile keys --worker sluice/prod --observer observer-1 --observer observer-2 --role console
    """
    from ...streams.policy.policy_toml import to_toml
    from ..engine.trust import Parties, Places, make_keys, make_secret_for, numbered, replaced, with_keys
    from ..settings.settings import load_settings
    from .policy_command import policy_of

    parties = Parties(**names)
    if not any(parties):
        flags = "--worker, --observer, --emitter, --internal-emitter, --reviewer, --role, --validator or --operator"
        raise click.UsageError(f"name at least one party: {flags}")
    origin = load_settings(obj["config_file"], {}).origin
    policy = policy_of(base)
    places = Places(folder, apart)
    lists = places.policy
    before = policy_of(str(lists)) if lists.exists() else None
    keys = make_keys(places, parties)
    is_secret_new = make_secret_for(places, policy)
    _write_whole(lists, to_toml(numbered(with_keys(policy, keys, origin, parties.internal_emitters), before)))
    for one in keys:
        click.echo(f"{one.kind} {one.name}: {one.path} ({'made' if one.is_new else 'kept'})")
    if is_secret_new is not None:
        click.echo(f"privacy secret: {places.secret} ({'made' if is_secret_new else 'kept'})")
    click.echo(f"policy: {lists}")
    for one in [] if before is None else replaced(before, keys):
        what = f"{one.kind} {one.name} has a new key, since its file was gone, and {lists} listed another one"
        say(f"warning: {what}; a ledger takes it by `sluice policy apply`")


def _write_whole(path: Path, text: str) -> None:
    draft = path.with_name(f".{path.name}.draft")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft.write_text(text, encoding="utf-8")
        draft.replace(path)
    except OSError as error:
        raise UsageError(f"the policy cannot be written: {error.strerror}", path=str(path)) from None


@key.command()
@click.argument("file", type=click.Path(dir_okay=False))
def show(file: str) -> None:
    """Prints the verifier of the private key in FILE.

    \b
    Example:
      sluice key show var/keys/signing.key
    """
    from ..engine.signing import load_signer

    click.echo(str(load_signer(Path(file)).verifier))
