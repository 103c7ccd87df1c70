"""Who may emit and review, through `sluice fold` [S §7, §11.1], docs/security.md.

Signatures here are made with `cryptography` and `rfc8785` alone, as any emitter in any language would make them. Each
test is what a stranger would try.
"""

from __future__ import annotations

import base64
from typing import Any

import pytest
import rfc8785
from fold_lines import adjudicate, at, emission, observation, review
from foreign_signing import key_of, public, sign

from sluice.codecs import signatures
from sluice.streams.policy import keys

GREP, GIT, CODE = "substrate.grep", "substrate.git.log", "substrate.code.read"
ANN, BOB, STRANGER = (key_of(number) for number in (1, 2, 3))
TO_REVIEW = '[disposition]\nbelow-floor = "review"\nunverified-inference = "review"\nunannotated = "review"\n'
SOON = 700.0
"""Seconds after which the horizon of ten minutes is over, and what lacks evidence is up for review."""
ADMITTED_BY_REVIEW = ("admitted", "admitted", None)


def signed(key: Any, line: dict[str, Any], origin: str = "sluice") -> dict[str, Any]:
    """The line with its record signed for its own topic."""
    return line | {"value": sign(key, line["topic"], line["value"], origin)}


def reviewers(more: str = "", **keys: Any) -> str:
    """A policy in which these reviewers have keys, and nobody else is heard."""
    listed = "".join(f'{name} = "{public(key)}"\n' for name, key in keys.items())
    return f"{TO_REVIEW}[reviewers]\nrequire_signatures = true\n{more}[reviewers.keys]\n{listed}"


def emitters(more: str = "", **keys: Any) -> str:
    """A policy in which these emitters have keys."""
    listed = "".join(f'{name} = "{public(key)}"\n' for name, key in keys.items())
    return f"[emitters]\n{more}[emitters.keys]\n{listed}"


def system(name: str) -> dict[str, Any]:
    """Members of an emission by this emitter."""
    return {"emitter": {"system": name}}


# ---------------------------------------------------------------- reviews


def test_a_review_that_nobody_asked_for_admits_nothing():
    """Before the verdict, and of what is admitted already: a replayed review would keep it admitted for ever."""
    outputs = adjudicate([emission(0), review(1)], TO_REVIEW)

    assert outputs.dead == ["unrequested-review"]
    (letter,) = outputs.lines_on("dead-letters")
    detail = "$.decision: expected an assertion that is up for review, got one that is pending"
    assert letter["headers"]["sluice-detail"] == detail


def test_a_review_of_what_is_admitted_extends_nothing():
    """The admission stands as long as its evidence carries it."""
    outputs = adjudicate([emission(0), observation(0, GREP), observation(0, GIT), review(5)], TO_REVIEW)

    assert outputs.dead == ["unrequested-review"]
    assert [word["revision"] for word in outputs.on("admitted")] == [1]


@pytest.mark.parametrize("when", [1.0, SOON + 5])
def test_a_refusal_may_always_come(when: float):
    """Whoever finds it wrong need not wait until somebody asks."""
    until_asked = [{"at": at(SOON)}] if when > SOON else []
    outputs = adjudicate([emission(0), *until_asked, review(when, "refuse")], TO_REVIEW)

    assert outputs.words[-1] == ("inadmissible", "rejected", "review")
    assert outputs.dead == []


def test_an_admission_that_was_asked_for_counts():
    """After the horizon, where the disposition is review."""
    assert adjudicate([emission(0), {"at": at(SOON)}, review(SOON + 5)], TO_REVIEW).words[-1] == ADMITTED_BY_REVIEW


def test_a_strangers_review_admits_nothing_where_signatures_are_required():
    """Unsigned, signed by another key, by a name without a key, or for another deployment."""
    wrong = [
        review(SOON + 1, reviewer="ann"),
        signed(STRANGER, review(SOON + 2, reviewer="ann")),
        signed(STRANGER, review(SOON + 3, reviewer="somebody")),
        signed(ANN, review(SOON + 4, reviewer="ann"), origin="another"),
        signed(ANN, review(SOON + 5, reviewer="bob")),
    ]
    right = signed(ANN, review(SOON + 6, reviewer="ann"))

    outputs = adjudicate([emission(0), {"at": at(SOON)}, *wrong, right], reviewers(ann=ANN, bob=BOB))

    assert outputs.dead == ["unauthorised-reviewer"] * len(wrong)
    assert outputs.words[-1] == ADMITTED_BY_REVIEW


def test_a_signature_is_for_one_kind_of_record():
    """A review's bytes signed as something else say nothing as a review."""
    line = review(SOON + 1, reviewer="ann")
    replayed = line | {"value": sign(ANN, "observations", line["value"])}

    assert adjudicate([emission(0), {"at": at(SOON)}, replayed], reviewers(ann=ANN)).dead == ["unauthorised-reviewer"]


def test_two_reviewers_are_two_names():
    """One who says it twice is one; the second name admits."""
    policy = reviewers("min_reviewers = { internal = 2, external = 2 }\n", ann=ANN, bob=BOB)
    ann, again, bob = (
        signed(key, review(SOON + when, reviewer=name))
        for key, name, when in ((ANN, "ann", 1), (ANN, "ann", 2), (BOB, "bob", 3))
    )

    assert adjudicate([emission(0), {"at": at(SOON)}, ann, again], policy).on("admitted") == []
    assert adjudicate([emission(0), {"at": at(SOON)}, ann, again, bob], policy).words[-1] == ADMITTED_BY_REVIEW


def test_one_refusal_is_enough_where_two_have_to_admit():
    """The doubt decides."""
    policy = reviewers("min_reviewers = { internal = 2, external = 2 }\n", ann=ANN, bob=BOB)
    lines = [signed(ANN, review(SOON + 1, reviewer="ann")), signed(BOB, review(SOON + 2, "refuse", reviewer="bob"))]

    outputs = adjudicate([emission(0), {"at": at(SOON)}, *lines], policy)

    assert outputs.words[-1] == ("inadmissible", "rejected", "review")


def test_a_role_signs_for_the_reviewers_that_it_names():
    """A service with a key for its role; a role without one, and a role's name with a reviewer's key, do not."""
    policy = f'{TO_REVIEW}[reviewers]\nrequire_signatures = true\n[reviewers.roles]\nconsole = "{public(BOB)}"\n'
    wrong = [
        signed(BOB, review(SOON + 1, reviewer="ann")),
        signed(STRANGER, review(SOON + 2, reviewer="ann", role="console")),
        signed(BOB, review(SOON + 3, reviewer="ann", role="another")),
    ]
    right = signed(BOB, review(SOON + 4, reviewer="ann", role="console"))

    outputs = adjudicate([emission(0), {"at": at(SOON)}, *wrong, right], policy)

    assert outputs.dead == ["unauthorised-reviewer"] * 3
    assert outputs.words[-1] == ADMITTED_BY_REVIEW


def test_a_claimed_role_needs_its_key_also_where_signatures_are_not_required():
    """A name that looks like authority must be it."""
    lines = [emission(0), {"at": at(SOON)}, review(SOON + 1, role="console")]

    assert adjudicate(lines, TO_REVIEW).dead == ["unauthorised-reviewer"]


@pytest.mark.parametrize("bound", ["since", "until", "revoked"])
def test_a_key_counts_in_its_own_time(bound: str):
    """By the block's time: before `since`, from `until` on and once revoked, its signatures are a stranger's."""
    moment = at(SOON + 100)
    early, late = (signed(ANN, review(SOON + when, reviewer="ann")) for when in (50, 150))
    key = f'{{ public_key = "{public(ANN)}", {bound} = "{moment}" }}'
    policy = f"{TO_REVIEW}[reviewers]\nrequire_signatures = true\n[reviewers.keys]\nann = {key}\n"

    counts = {
        when: adjudicate([emission(0), {"at": at(SOON)}, line], policy).dead == []
        for when, line in (("early", early), ("late", late))
    }

    assert counts == {"early": bound != "since", "late": bound == "since"}


def test_a_successor_signs_beside_the_key_that_it_replaces():
    """Two keys of one name, each in its time."""
    moment = at(SOON + 100)
    old = f'{{ public_key = "{public(ANN)}", until = "{moment}" }}'
    new = f'{{ public_key = "{public(BOB)}", since = "{moment}" }}'
    policy = f"{TO_REVIEW}[reviewers]\nrequire_signatures = true\n[reviewers.keys]\nann = [{old}, {new}]\n"
    right = signed(BOB, review(SOON + 150, reviewer="ann"))
    wrong = signed(ANN, review(SOON + 140, reviewer="ann"))

    outputs = adjudicate([emission(0), {"at": at(SOON)}, wrong, right], policy)

    assert outputs.dead == ["unauthorised-reviewer"]
    assert outputs.words[-1] == ADMITTED_BY_REVIEW


def succeeded(old: Any, new: Any, name: str = "ann", by: Any = None, more: str = "") -> str:
    """The entries of a key and of another one that says it follows it; `by` signed that, instead of the old one."""
    form = rfc8785.dumps({"name": name, "public_key": public(new)})
    parts = [b"sluice/1", b"sluice", b"policies", b"succession", form]
    said = base64.b64encode((by or old).sign(b"".join(len(one).to_bytes(8, "big") + one for one in parts))).decode()
    follows = f'{{ public_key = "{public(new)}", signed_by = "{public(old)}", signature = "{said}" }}'
    return f'[{{ public_key = "{public(old)}"{more} }}, {follows}]'


@pytest.mark.parametrize(
    ("by", "more", "counts"),
    [
        (None, "", True),
        (STRANGER, "", False),
        (BOB, "", False),  # the new key vouches for itself
        (None, ', revoked = "2026-01-01T00:00:00Z"', False),  # a thief's signature may be as old as the owner's
    ],
)
def test_a_false_successor_speaks_for_nobody(by: Any, more: str, counts: bool):
    """Of reviewers, roles, emitters and observers alike: a ledger's policy may list one, if nobody checked the file."""
    listed = succeeded(ANN, BOB, by=by, more=more)
    reviewing = f"{TO_REVIEW}[reviewers]\nrequire_signatures = true\n"
    asked = [emission(0), {"at": at(SOON)}]
    runs = {
        "unauthorised-reviewer": [
            (f"{reviewing}[reviewers.keys]\nann = {listed}\n", [*asked, signed(BOB, review(SOON + 1, reviewer="ann"))]),
            (
                f"{reviewing}[reviewers.roles]\nann = {listed}\n",
                [*asked, signed(BOB, review(SOON + 1, reviewer="eve", role="ann"))],
            ),
        ],
        "unauthorised-emitter": [
            (f"[emitters.keys]\nann = {listed}\n", [signed(BOB, emission(0, fields=system("ann")))])
        ],
        "unauthorised-observer": [
            (f"[observers.ann]\nkeys = {listed}\n", [signed(BOB, observation(1, GREP, observer="ann"))])
        ],
    }

    for reason, some in runs.items():
        for policy, lines in some:
            assert adjudicate(lines, policy).dead == ([] if counts else [reason])


# ---------------------------------------------------------------- reviews that come again

REUSED = 3 * 86_400.0
"""Seconds after which an emission is forgotten, and its id free again."""


def _asked(when: float = 0, **fields: Any) -> list[dict[str, Any]]:
    """An emission, and the time at which it is up for review."""
    return [emission(when, **fields), {"at": at(when + SOON)}]


def _unsigned(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        line | {"value": {name: one for name, one in line["value"].items() if name != "signature"}}
        if "value" in line
        else line
        for line in lines
    ]


def test_an_old_review_admits_no_new_words():
    """Its emission was forgotten, and the id used again for other words: the signature still holds, and is too old."""
    old = signed(ANN, review(SOON + 5, reviewer="ann"))
    other = "CHANGELOG.md has an entry dated 2027-05-25."
    lines = [*_asked(), old, {"at": at(2 * 86_400)}, *_asked(REUSED, text=other)]
    again = old | {"at": at(REUSED + SOON + 1)}

    outputs = adjudicate([*lines, again], reviewers(ann=ANN))

    assert outputs.dead == ["unrequested-review"]
    assert outputs.words[-1] == ("inadmissible", "unverified-inference", "not-looked-at")
    assert adjudicate(_unsigned([*lines, again]), TO_REVIEW).dead == ["unrequested-review"]
    fresh = signed(ANN, review(REUSED + SOON + 1, reviewer="ann"))
    assert adjudicate([*lines, fresh], reviewers(ann=ANN)).words[-1] == ADMITTED_BY_REVIEW


def test_a_review_names_the_text_that_was_reviewed():
    """Whose request was shown for one text decides about no other; a review that names nothing decides as before."""
    asked = _asked()
    (request,) = adjudicate(asked, TO_REVIEW).on("review-requests")
    right = review(SOON + 5, canonical_hash=request["canonical_hash"])
    wrong = [review(SOON + 5, decision, canonical_hash="sha256:" + "00" * 32) for decision in ("admit", "refuse")]

    assert adjudicate([*asked, right], TO_REVIEW).words[-1] == ADMITTED_BY_REVIEW
    assert adjudicate([*asked, *wrong], TO_REVIEW).dead == ["unrequested-review", "late-review"]
    assert adjudicate([*asked, review(SOON + 5, canonical_hash="x")], TO_REVIEW).dead == ["schema"]


@pytest.mark.parametrize(
    ("decided", "reason"),
    [
        (SOON, None),
        (SOON - 129.999, None),  # 600.001 is the end of the horizon; a reviewer's clock may be behind by max_skew
        (SOON - 130, "unrequested-review"),
        (None, "unauthorised-reviewer"),
    ],
)
def test_a_signed_admission_is_not_older_than_its_request(decided: float | None, reason: str | None):
    """Signed before anybody asked, or at no time at all, it could be kept and sent when it suits."""
    lines = [emission(0), {"at": at(600.001)}]
    when = None if decided is None else at(decided)
    admits = signed(ANN, review(SOON, reviewer="ann", decided_at=when))

    assert adjudicate([*lines, admits], reviewers(ann=ANN)).dead == ([] if reason is None else [reason])


def test_an_old_refusal_closes_nothing_new():
    """A refusal may come before anybody asks, but not before there was anything to refuse."""
    early, old = (
        signed(ANN, review(REUSED + 5, "refuse", reviewer="ann", decided_at=at(when))) for when in (REUSED + 1, 5)
    )

    assert adjudicate([emission(REUSED), early], reviewers(ann=ANN)).words[-1] == ("inadmissible", "rejected", "review")
    assert adjudicate([emission(REUSED), old], reviewers(ann=ANN)).dead == ["late-review"]


# ---------------------------------------------------------------- emissions


def test_an_emitter_with_a_key_signs():
    """Unsigned, or with a stranger's signature, nothing is emitted in its name."""
    lines = [emission(0, fields=system("bot")), signed(STRANGER, emission(1, fields=system("bot")))]

    assert adjudicate(lines, emitters(bot=ANN)).dead == ["unauthorised-emitter"] * 2
    assert adjudicate([signed(ANN, emission(0, fields=system("bot")))], emitters(bot=ANN)).dead == []


@pytest.mark.parametrize("fields", [{}, system("somebody")])
def test_nobody_else_emits_where_signatures_are_required(fields: dict[str, Any]):
    """Without a name, or with one that has no key."""
    outputs = adjudicate(
        [signed(STRANGER, emission(0, fields=fields))], emitters("require_signatures = true\n", bot=ANN)
    )

    assert outputs.dead == ["unauthorised-emitter"]


def test_an_id_belongs_to_the_emitter_that_signed_it():
    """Another emitter with a key of its own cannot supersede what is pending, nor what is admitted."""
    mine = signed(ANN, emission(0, fields=system("bot")))
    theirs = signed(BOB, emission(5, fields=system("rival") | {"attempt": 1}))
    policy = emitters("require_signatures = true\n", bot=ANN, rival=BOB)

    outputs = adjudicate([mine, theirs, observation(6, GREP), observation(6, GIT)], policy)

    assert outputs.dead == ["unauthorised-emitter"]
    assert outputs.words == [("admitted", "admitted", None)]


def test_a_repetition_costs_no_look_at_its_signature(monkeypatch: pytest.MonkeyPatch):
    """Duplicates come first: whoever sends a signed record again makes nobody check it again."""
    line, checks = signed(ANN, emission(0, fields=system("bot"))), list[bytes]()
    checked = keys.is_signed_by_any
    monkeypatch.setattr(keys, "is_signed_by_any", lambda *given: (checks.append(given[2]), checked(*given))[1])

    assert (adjudicate([line] * 3, emitters("require_signatures = true\n", bot=ANN)).dead, len(checks)) == ([], 1)


def test_a_record_is_read_once_for_all_keys(monkeypatch: pytest.MonkeyPatch):
    """A signature that no key made costs one canonical form, and one that is none costs not even that."""
    record = b'{"numbers": [' + b",".join([b"1e-7"] * 1000) + b"]}"
    listed = [keys.Key(public_key=public(key_of(number))) for number in range(10, 26)]
    forms = list[Any]()
    made = signatures.fast_canonical
    monkeypatch.setattr(signatures, "fast_canonical", lambda value: (forms.append(value), made(value))[1])

    for said, count in (("AA" * 43 + "==", 1), ("AAAA", 0), ("no base64", 0), (None, 0)):
        forms.clear()
        assert not keys.is_signed(listed, 0, said, record, signatures.EMISSION)
        assert len(forms) == count


def test_its_own_next_attempt_is_taken():
    """A re-emission by the owner supersedes, and the same bytes again are a duplicate."""
    first, second = (
        signed(ANN, emission(when, fields=system("bot") | {"attempt": number})) for number, when in ((0, 0), (1, 5))
    )

    outputs = adjudicate([first, second, second], emitters("require_signatures = true\n", bot=ANN))

    assert (outputs.words, outputs.dead) == ([("inadmissible", "rejected", "superseded")], [])


def test_who_did_not_sign_has_no_lower_effect_than_the_policy_says():
    """The name of an emitter whose words stay internal is anybody's to write; its signature is not."""
    policy = f'[emitters]\nunauthenticated = "external"\n[emitters.keys]\nbot = "{public(ANN)}"\n'
    evidence = [observation(1, GREP), observation(1, GIT)]

    unsigned = adjudicate([emission(0, fields=system("open")), *evidence], policy)
    own = adjudicate([signed(ANN, emission(0, fields=system("bot"))), *evidence], policy)

    assert unsigned.on("admitted") == []
    assert [word["effect"] for word in own.on("admitted")] == ["internal"]


@pytest.mark.parametrize("name", [{}, system("open"), system("bot-2")])
def test_another_name_makes_no_evidence_of_what_an_emitter_can_write_to(name: dict[str, Any]):
    """Where emitters sign, one that does not may be the writer: unsigned and under any other name it gains nothing."""
    policy = emitters(bot=ANN) + '[observers."observer-2"]\nwritable_by = ["bot"]\n'
    evidence = [observation(1, GREP), observation(2, GIT, observer="observer-2")]
    policy_of_two = policy.replace("[emitters.keys]\n", f'[emitters.keys]\nother = "{public(BOB)}"\n')

    assert adjudicate([emission(0, fields=name), *evidence], policy).words == []
    assert adjudicate([signed(ANN, emission(0, fields=system("bot"))), *evidence], policy).words == []
    own = signed(BOB, emission(0, fields=system("other")))
    assert adjudicate([own, *evidence], policy_of_two).words == [("admitted", "admitted", None)]


@pytest.mark.parametrize(("owner", "counts"), [("Example Ltd", True), ("ACME", False), (None, False)])
def test_another_name_has_no_other_vendor(owner: str | None, counts: bool):
    """Unsigned where others sign: what any vendor in the policy owns is as its own vendor's."""
    policy = emitters(bot=ANN) + '[emitters.vendor]\nbot = "Acme"\n'
    looked = {} if owner is None else {"looked_at": {"owner": owner}}
    evidence = [observation(1, GREP), observation(2, "substrate.mcp.brief", **looked)]

    outputs = adjudicate([emission(0, fields=system("open")), *evidence], policy)

    assert outputs.words == ([("admitted", "admitted", None)] if counts else [])


def test_a_stranger_cannot_close_an_emission_with_a_number_that_nobody_reaches():
    """An attempt of 1,000,000 would supersede all that ever comes."""
    lines = [emission(0), emission(1, fields={"attempt": 1_000_000}), observation(2, GREP), observation(2, GIT)]

    outputs = adjudicate(lines)

    assert (outputs.words, outputs.dead) == ([("admitted", "admitted", None)], ["attempt-out-of-order"])
