"""sluice for programs: an emitter, a reader of what is admitted, an auditor, and a fake of it all for unit tests.

`AsyncEmitter`, `AsyncAdmittedReader` and `AsyncAuditor` are for event loops, `Emitter`, `AdmittedReader` and `Auditor`
for everybody else. docs/client.md shows them at work.
"""

from ...codecs.errors import DoesNotHoldError, SluiceError, UnreachableError, UsageError
from ..settings.settings import Settings, load_settings
from .auditing import AsyncAuditor, Auditor
from .blocking import AdmittedReader, Emitter
from .changes import (
    Admitted,
    AdmittedRecord,
    AnyChange,
    Change,
    Contradicted,
    Decayed,
    Refused,
    Rejected,
    Renewed,
)
from .drafts import Draft, annotation
from .emitting import AsyncEmitter, Delivery
from .errors import BufferFullError, ClosedError, InvalidRecordError
from .fake import FakeSluice
from .ports import Delivered, Position
from .reading import AsyncAdmittedReader
from .replay import ReplayedBlock, ReplayedEvent, ReplayedOutput

__all__ = [
    "Admitted",
    "AdmittedReader",
    "AdmittedRecord",
    "AnyChange",
    "AsyncAdmittedReader",
    "AsyncAuditor",
    "AsyncEmitter",
    "Auditor",
    "BufferFullError",
    "Change",
    "ClosedError",
    "Contradicted",
    "Decayed",
    "Delivered",
    "Delivery",
    "DoesNotHoldError",
    "Draft",
    "Emitter",
    "FakeSluice",
    "InvalidRecordError",
    "Position",
    "Refused",
    "Rejected",
    "Renewed",
    "ReplayedBlock",
    "ReplayedEvent",
    "ReplayedOutput",
    "Settings",
    "SluiceError",
    "UnreachableError",
    "UsageError",
    "annotation",
    "load_settings",
]
