"""What of an observation leaves sluice, and in which form [S §12].

An observation id may carry what the substrate knows of people: a path, a content hash, a peer credential. The policy
says whether ids leave in clear, hashed, or not at all; hashed is HMAC-SHA256 (RFC 2104) over the id with a secret that
only the operator has, so that equal ids stay equal, and without the secret nobody can find an id by trying. It
is written

    hmac:KEY:DIGEST

with the first 8 hexadecimal digits of the secret's own SHA-256 and the 64 of the HMAC, which is an identifier again
(docs/reference/records.md). The key's id shows which ids can be compared, and which secret an audit needs. It reveals
no more of a secret than an HMAC does, since a guessed secret can be tested against either. The secret stands in no
record, ledger or snapshot.

Of the identity-bound tier no id leaves in clear, whatever the policy says; nor does what may be a peer credential.

A block's header names the key's id in `fold` (` privacy=KEY`), and only what it names is used: so the same ledger gives
the same outputs, whichever secrets a worker has besides, and with none that it names it is not folded. Where no secret
was given when the block was closed the header names none, and what was to be hashed is left out.
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Sequence
from hashlib import sha256
from typing import Any, Final

from ...codecs.errors import UsageError
from ...codecs.records import Tier
from .policy import Privacy, PrivacyRules

IDENTITY_BOUND: Final = frozenset({"substrate.unix.peercred"})
"""Classes whose observations name who somebody is, whatever tier is claimed for them (`binds_identity`)."""
_PEER: Final = "peercred:"
_PSEUDONYM: Final = re.compile(r"peercred:[0-9a-f]{64}", re.ASCII)
_NAMED: Final = "privacy="


class Secret:
    """One secret. Neither `str()` nor `repr()` of it tells it.

    Attributes:
        id: the key's id, 8 hexadecimal digits.
    """

    __slots__ = ("_key", "id")

    def __init__(self, secret: str) -> None:
        self._key = secret.encode()
        self.id = sha256(self._key).hexdigest()[:8]

    def hashed(self, text: str) -> str:
        """`hmac:`, the key's id, `:` and 64 hexadecimal digits."""
        return f"hmac:{self.id}:{hmac.digest(self._key, text.encode(), 'sha256').hex()}"

    def __repr__(self) -> str:
        return f"Secret({self.id})"


class Secrets:
    """The secrets that a process was given: one for new blocks, and those of blocks from before.

    Args:
        current: None where there is none.
        former: which were current once.
    """

    def __init__(self, current: Secret | None = None, former: Sequence[Secret] = ()) -> None:
        self.current = current
        self._known = {one.id: one for one in (*former, *([] if current is None else [current]))}

    def key_for(self, rules: PrivacyRules | None) -> str:
        """The id of the key that a block under these rules is to name; empty where it is to name none."""
        return self.current.id if self.current is not None and rules is not None and rules.hashes else ""

    def named(self, fold: str, rules: PrivacyRules) -> Secret | None:
        """The secret that a block has to be folded with; None where none is needed.

        Args:
            fold: as its header has it.
            rules: in force in it.

        Raises:
            UsageError: the header names one that is not known here.
        """
        key = key_named(fold) if rules.hashes else ""
        if not key:
            return None
        secret = self._known.get(key)
        if secret is None:
            raise UsageError(
                "the ledger's identifiers are hashed with another privacy_secret",
                expected=f"the secret with the id {key}",
                got=", ".join(sorted(self._known)) or "none",
                hint="set privacy_secret, or former_privacy_secrets, to the one that it was written with",
            )
        return secret


NO_SECRETS: Final = Secrets()


def key_named(fold: str) -> str:
    """The id of the key that a header's `fold` names; empty where it names none."""
    return next((word.removeprefix(_NAMED) for word in fold.split() if word.startswith(_NAMED)), "")


def with_key(fold: str, key: str) -> str:
    """A version of the fold, as a header names it that uses this key; the version itself where `key` is empty."""
    return f"{fold} {_NAMED}{key}" if key else fold


def without_key(fold: str) -> str:
    """The version of the fold in a header, whichever key it names."""
    return " ".join(word for word in fold.split(" ") if not word.startswith(_NAMED))


class RedactionPolicy:
    """What may be shown under one policy: the one place that decides it.

    Args:
        rules: the policy's.
        secret: which what is to be hashed is hashed with; None leaves it out.
    """

    def __init__(self, rules: PrivacyRules, secret: Secret | None = None) -> None:
        self._ids: Privacy = rules.observation_ids
        self._sources: Privacy = rules.chain_sources
        self._secret = secret
        self.hides_sources = rules.chain_sources != "clear"

    @property
    def hides_ids(self) -> bool:
        """Whether no observation id is shown in clear."""
        return self._ids != "clear"

    def observation_id(self, observation_id: str, *, identity_bound: bool) -> str | None:
        """The form in which an observation id may be shown; None where it may not be shown at all."""
        if self._ids == "clear":
            return None if identity_bound or may_be_credentials(observation_id) else observation_id
        return self._form(self._ids, observation_id)

    def source(self, step: dict[str, Any]) -> None:
        """Takes out of a step of a chain what its policy does not let out: that there was a source stays."""
        source = step.pop("source", None)
        step.pop("metadata", None)
        shown = self._form(self._sources, source) if isinstance(source, str) and source else None
        if shown is not None:
            step["source"] = shown
        for side in ("left", "right"):
            for inner in step.get(side, ()):
                self.source(inner)

    def _form(self, rule: Privacy, text: str) -> str | None:
        return self._secret.hashed(text) if rule == "hashed" and self._secret is not None else None


def binds_identity(tier: Tier, substrate_class: str) -> bool:
    """Whether an observation is of the identity-bound tier: by its own word, or by its bare class."""
    return tier == "identity-bound" or substrate_class in IDENTITY_BOUND


def may_be_credentials(observation_id: str) -> bool:
    """Whether an id calls itself one of a peer's credentials and is no HMAC over them (observing.md)."""
    return observation_id[: len(_PEER)].lower() == _PEER and _PSEUDONYM.fullmatch(observation_id) is None
