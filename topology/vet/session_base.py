"""The work tree as it stood when an agent's session began, kept as a tree object of git, and claims held against it.

A hook that is called at the session's start, at a prompt or before a call keeps the tree once, under
`refs/sluice/base/`, which no push or fetch takes along. Files that are not tracked are not in it. So what an agent
says that it added, removed or changed can be held against where it began, committed or not.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Sequence
from hashlib import sha256
from typing import Final

from msgspec.structs import replace

from ...codecs.decode import assertion_text
from ...codecs.records import Annotation, Assertion, Emission
from ...record.looks import GREP, READ
from ...streams.judging.checks import Check, canonical, parse_check
from ...streams.judging.claim_forms import claim

EVENTS: Final = ("SessionStart", "UserPromptSubmit", "PreToolUse")
"""Events of hooks at which the tree is kept."""
SECONDS: Final = 5.0
"""How long one call of git may take."""
_REFS: Final = "refs/sluice/base/"
_SINCE: Final = frozenset(("added", "deleted", "renamed", "touched", "unchanged"))
_ONLY: Final = re.compile(
    r"(?:i |i've |i have )?(?:only|just) (?:changed|modified|touched|edited|updated) "
    r"((?:`[^`\s]{1,400}`(?:, and |, | and )?){1,40})\.?",
    re.IGNORECASE,
)


def keep(cwd: str, session: str) -> str | None:
    """Keeps the tree of the checkout that a folder is in, unless that session has one.

    Args:
        cwd: the folder.
        session: what the agent calls the session.

    Returns:
        One sentence where it cannot be kept.
    """
    if base_of(cwd, session) is not None:
        return None
    try:
        with tempfile.TemporaryDirectory(prefix="sluice-index-") as folder:
            index = os.path.join(folder, "index")
            top = _git(cwd, None, "rev-parse", "--show-toplevel")
            if _git(top, None, "rev-parse", "--verify", "--quiet", "HEAD^{tree}", fails=True):
                _git(top, index, "read-tree", "HEAD")
            _git(top, index, "add", "--update", ".")
            tree = _git(top, index, "write-tree")
            _git(top, None, "update-ref", _ref(session), tree, "0" * len(tree), fails=True)
    except (OSError, subprocess.SubprocessError):
        return f"the work tree of {cwd} could not be kept as it stands; changes are held against HEAD"
    return None


def base_of(cwd: str, session: str) -> str | None:
    """The name of the tree that is kept for a session; None where none is."""
    try:
        tree = _git(cwd, None, "rev-parse", "--verify", "--quiet", f"{_ref(session)}^{{tree}}", fails=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return tree or None


def _ref(session: str) -> str:
    return _REFS + sha256(session.encode("utf-8", "replace")).hexdigest()[:32]


def _git(cwd: str, index: str | None, *arguments: str, fails: bool = False) -> str:
    """What git prints; nothing of its hooks runs. `fails`: it may, and then prints nothing."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    environment |= {"GIT_OPTIONAL_LOCKS": "0"} | ({} if index is None else {"GIT_INDEX_FILE": index})
    quiet = ("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "core.safecrlf=false")
    done = subprocess.run(
        ["git", *quiet, *arguments],
        cwd=cwd,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=SECONDS,
        check=not fails,
    )
    return done.stdout.decode("utf-8", "replace").strip() if done.returncode == 0 else ""


def held_since(emission: Emission, base: str) -> Emission:
    """The emission with the checks of what its assertions say was changed, against a kept tree.

    Args:
        emission: as a recorder made it.
        base: the name of the tree.
    """
    return replace(emission, assertions=[_since(emission, one, base) for one in emission.assertions or ()])


def _since(emission: Emission, assertion: Assertion, base: str) -> Assertion:
    if assertion.checks:
        return assertion
    text = assertion_text(emission, assertion)
    checks = [_named(check, base) for check in _changes_in(text) if check.name in _SINCE and not check.negated]
    if not checks:
        return assertion
    looks = assertion.annotations
    have = {one.substrate_class for one in looks}
    more = [Annotation(name, None, None, None) for name in (READ, GREP) if name not in have]
    return replace(assertion, checks=list(map(canonical, checks)), provenance=[*looks, *more])


def _changes_in(text: str) -> Sequence[Check]:
    only = _ONLY.fullmatch(text.strip())
    if only is not None:
        written = [f"touched([{', '.join(re.findall(r'`([^`]+)`', only[1]))}])"]
    else:
        claimed = claim(text)
        written = [] if claimed is None else claimed.checks
    return [check for one in written if isinstance(check := parse_check(one), Check)]


def _named(check: Check, base: str) -> Check:
    """A check with the tree that it is held against."""
    return replace(check, named=(*(one for one in check.named if one[0] != "since"), ("since", base)))
