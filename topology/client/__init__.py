"""sluice for programs: an emitter, readers of what is admitted, of what is to be mended and of verdicts, an auditor,
and a fake of all that for unit tests.

`AsyncEmitter`, `AsyncAdmittedReader`, `AsyncReEmissionReader`, `AsyncVerdictReader` and `AsyncAuditor` are for event
loops, those without `Async` for everybody else. docs/client.md, docs/mending.md and docs/verdicts.md show them at work.
"""

from ...codecs.errors import DoesNotHoldError, SluiceError, UnreachableError, UsageError
from ..settings.settings import Settings, load_settings
from .admitted_set import Admitted, AdmittedRecord, AnyChange, Change, Contradicted, Decayed, Refused, Rejected, Renewed
from .auditing import AsyncAuditor, Auditor, ReplayedBlock, ReplayedEvent, ReplayedOutput
from .blocking import AdmittedReader, Emitter, ReEmissionReader, VerdictReader
from .client_readers import AsyncAdmittedReader, AsyncReEmissionReader, AsyncVerdictReader, EmissionVerdicts, Mending
from .drafts import Draft, annotation
from .emitting import AsyncEmitter, Delivery
from .fake import FakeSluice
from .ports import BufferFullError, ClosedError, Delivered, InvalidRecordError, Position, RefusedError

__all__ = [
    "Admitted",
    "AdmittedReader",
    "AdmittedRecord",
    "AnyChange",
    "AsyncAdmittedReader",
    "AsyncAuditor",
    "AsyncEmitter",
    "AsyncReEmissionReader",
    "AsyncVerdictReader",
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
    "EmissionVerdicts",
    "Emitter",
    "FakeSluice",
    "InvalidRecordError",
    "Mending",
    "Position",
    "ReEmissionReader",
    "Refused",
    "RefusedError",
    "Rejected",
    "Renewed",
    "ReplayedBlock",
    "ReplayedEvent",
    "ReplayedOutput",
    "Settings",
    "SluiceError",
    "UnreachableError",
    "UsageError",
    "VerdictReader",
    "annotation",
    "load_settings",
]
