"""Whether an adoption counts (codecs/adoptions.py): who may say that lanes go on with a topic that was made anew.

One of the keys of `[policies.keys]` must have signed it, in its time; where the policy lists none there, one of
`[checkpoints.keys]`. Where it lists none there either, whoever may write to the topic `policies` may adopt, as they may
write policies. Pure.
"""

from __future__ import annotations

from ...codecs.adoptions import domain_of, read_adoption
from ...codecs.blocks import Event
from ...codecs.errors import DoesNotHoldError
from .keys import counted, is_signed, what_came
from .policy import Policy


def refusal(event: Event, policy: Policy, time: int) -> str:
    """Why an adoption does not count; empty where it does.

    Args:
        event: with the record's key and value.
        policy: in force.
        time: of the block that takes it in, Unix ms.
    """
    try:
        adoption = read_adoption(event.key, event.value)
    except DoesNotHoldError as error:
        return str(error)
    table, listed = "policies.keys", policy.policies.keys
    if not listed:
        table, listed = "checkpoints.keys", policy.checkpoints.keys
    if not listed:
        return ""
    keys = [key for name, own in listed.items() for key in counted(name, own, policy.origin)]
    if is_signed(keys, time, adoption.signature, event.value, domain_of(policy.origin)):
        return ""
    return f"expected a signature of a key of [{table}], got {what_came(adoption.signature)}"


def demand(event: Event, policy: Policy, time: int) -> None:
    """Demands of an adoption in a block that it counts; the arguments are those of `refusal`.

    Raises:
        DoesNotHoldError: it does not: no lane has written that block.
    """
    if why := refusal(event, policy, time):
        raise DoesNotHoldError(f"the block adopts a topic, and must not: {why}")
