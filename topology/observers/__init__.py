"""The observers: they look again at what an annotation declares, and say what stands there (observing.md).

Read only. No shell, no path outside the root that the operator names, no server, channel or socket that is not on the
operator's list (`operator_list.py`); what bounds do not let finish is `unavailable`, never a verdict. The door is
`look.look`; `service.ObserverService` stands between it and Kafka. Observers of one's own: `interface.py`.
"""

__all__ = [
    "ask",
    "file_contents",
    "look",
    "nameable_files",
    "observation_record",
    "observer_registry",
    "roots",
    "service",
]
