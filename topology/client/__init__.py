"""sluice for programs: an emitter, readers of what is admitted, of what is to be mended and of verdicts, an auditor,
and a fake of all that for unit tests.

`AsyncEmitter`, `AsyncAdmittedReader`, `AsyncReEmissionReader`, `AsyncVerdictReader` and `AsyncAuditor` are for event
loops, those without `Async` for everybody else. docs/client.md, docs/mending.md and docs/verdicts.md show them at work.
"""

from ...codecs.errors import DoesNotHoldError, SluiceError, UnreachableError, UsageError
from ..settings.settings import Settings, load_settings
from .admitted_reader import AsyncAdmittedReader
from .auditing import AsyncAuditor, Auditor
from .blocking import AdmittedReader, Emitter, ReEmissionReader, VerdictReader
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
from .errors import BufferFullError, ClosedError, InvalidRecordError, RefusedError
from .fake import FakeSluice
from .lane_replay import ReplayedBlock, ReplayedEvent, ReplayedOutput
from .ports import Delivered, Position
from .reemission_reader import AsyncReEmissionReader, Mending
from .verdict_reader import AsyncVerdictReader, EmissionVerdicts

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
