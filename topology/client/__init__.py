"""sluice for programs: an emitter, readers of what is admitted and of what is to be mended, an auditor, and a fake of
all that for unit tests.

`AsyncEmitter`, `AsyncAdmittedReader`, `AsyncReEmissionReader` and `AsyncAuditor` are for event loops, those without
`Async` for everybody else. docs/client.md and docs/mending.md show them at work.
"""

from ...codecs.errors import DoesNotHoldError, SluiceError, UnreachableError, UsageError
from ..settings.settings import Settings, load_settings
from .auditing import AsyncAuditor, Auditor
from .blocking import AdmittedReader, Emitter, ReEmissionReader
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
from .mending import AsyncReEmissionReader, Mending
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
    "AsyncReEmissionReader",
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
    "Mending",
    "Position",
    "ReEmissionReader",
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
