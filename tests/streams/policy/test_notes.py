"""What a policy without exposures still leaves to one party (docs/security.md)."""

from __future__ import annotations

from sluice.streams.policy.policy_toml import load_policy
from sluice.topology.cli.policy_command import policy_text

KEY = "A6EHv/POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg="


def test_the_strict_profile_says_what_one_party_can_do_where_the_effect_is_internal() -> None:
    """One observer, one checkout, and one class for the checks that `k_by_check` names."""
    policy = load_policy(policy_text("strict"), "strict")

    assert policy.exposures() == []
    found = dict(policy.notes())
    assert list(found) == [
        "admissibility.min_observers",
        "judging.same_root",
        "emitters.require_vendor",
        "admissibility.k_by_check",
        "policies.keys",
    ]
    assert "absent, changed, commit" in found["admissibility.k_by_check"]


def test_a_role_is_as_many_reviewers_as_it_names() -> None:
    """Whoever holds its key signs for two of them: `min_reviewers` counts names."""
    role = f'[reviewers]\nmin_reviewers = {{ external = 2 }}\n[reviewers.roles]\nconsole = "{KEY}"\n'

    assert [path for path, _ in load_policy(role, "").notes()] == ["policies.keys", "reviewers.roles"]
    assert [path for path, _ in load_policy(role.replace("min_reviewers = { external = 2 }\n", ""), "").notes()] == [
        "policies.keys"
    ]


def test_a_name_that_nobody_signs_is_warned_of() -> None:
    """`writable_by` and `vendor` follow it; where emitters sign, unsigned emissions are as the writer's."""
    writable = '[observers.o]\nwritable_by = ["bot"]\n'
    vendor = '[emitters.vendor]\nbot = "Acme"\n'
    signs = f'[emitters.keys]\nbot = "{KEY}"\n'

    def warned(text: str) -> list[str]:
        return [path for path, why in load_policy(text, "").warnings() if "anybody's to give" in why]

    assert warned(writable) == ["observers.o.writable_by"]
    assert warned(vendor) == ["emitters.vendor"]
    assert warned(signs + writable) == warned(signs + vendor) == warned("") == []
