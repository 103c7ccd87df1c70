"""Runs the loop: an answer, its verdicts, the mended answer, its verdicts.

    python examples/mending/run.py                                          # all in this process, nothing to install
    python examples/mending/run.py --broker kafka://127.0.0.1:9092 --root .  # beside a worker and observers

Without a broker the fold runs in this process, and the real observers look at a repository that is made for it. The
model is a script, unless `--model` names one behind `--url`.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from mending_agent import Look, MendingAgent, Model, advice, chat, scripted

from sluice.codecs.decode import decode_emission
from sluice.codecs.errors import Fault, SluiceError
from sluice.record import KafkaSink, Recorder, Turn
from sluice.topology.client import AdmittedReader, AnyChange, FakeSluice, ReEmissionReader
from sluice.topology.observers.look import look
from sluice.topology.observers.observation_record import written
from sluice.topology.observers.roots import Roots
from sluice.topology.settings.settings import Settings

HERE = Path(__file__).parent
FILE = "settings.py"
SOURCE = 'RETRIES = 3\nTIMEOUT = 30\n\n\ndef connect():\n    """Opens the connection."""\n    return RETRIES\n'
QUESTION = "How often does it retry, and how long does it wait?"
FIRST = "`RETRIES` in `settings.py` is 5. `TIMEOUT` in `settings.py` is 30. `connect` calls `sleep`."
SECOND = "`RETRIES` in `settings.py` is 3. `TIMEOUT` in `settings.py` is 30."


def make_repository(folder: Path) -> Path:
    """A repository with one file, which the answer is about."""
    (folder / FILE).write_text(SOURCE)
    for command in ("init --quiet", "add .", "-c user.name=a -c user.email=a@example.org commit --quiet -m x"):
        subprocess.run(["git", *command.split()], cwd=folder, check=True)
    return folder


def calls(root: Path) -> Iterator[dict[str, Any]]:
    """The tool calls that the scripted agent made; a real one passes on its own."""
    lines = (root / FILE).read_text().splitlines()
    numbered = "".join(f"{number:6}\t{line}\n" for number, line in enumerate(lines, 1))
    yield {"name": "Read", "arguments": {"file_path": str(root / FILE)}, "result": numbered}
    found = "".join(f"{number}:{line}\n" for number, line in enumerate(lines, 1) if "=" in line)
    arguments = {"pattern": "RETRIES|TIMEOUT", "path": str(root / FILE), "output_mode": "content", "-n": True}
    yield {"name": "Grep", "arguments": arguments, "result": found}


def looked_at(root: Path) -> Look:
    """How the agent's turns are told what it looked at."""

    def tell(turn: Turn) -> None:
        for call in calls(root):
            turn.tool(**call)

    return tell


def in_this_process(root: Path, model: Model) -> MendingAgent:
    """The loop on a fake, whose time passes only here; the observers are the real ones."""
    fake = FakeSluice((HERE / "policy.toml").read_text(), start=time.time_ns() // 1_000_000)
    places, settings, clock = Roots.of(str(root)), Settings(), lambda: fake.now
    with fake.emitter() as emitter, fake.re_emission_reader() as reader, fake.reader() as admitted:
        sink = KafkaSink(emitter=emitter)
        agent = MendingAgent(Recorder("mending-agent", sink, root=root, clock=clock), model, clock)
        agent.answer("example", QUESTION, looked_at(root))
        while True:
            observe(fake, places, settings)
            fake.advance("21s")  # what nobody bore out is decided
            show(admitted.catch_up())
            if not mend(agent, reader, 0.2, 0.05):
                return agent


def observe(fake: FakeSluice, places: Roots, settings: Settings) -> None:
    """What `sluice observe` does: looks at the newest emission."""
    emission = decode_emission(json.dumps(fake.records("emissions")[-1]).encode())
    assert not isinstance(emission, Fault), "the recorder made it"
    for one in look(emission, settings, places, clock=lambda: fake.now):
        fake.observe(written(one))


def beside_workers(broker: str, root: Path, model: Model, seconds: float) -> MendingAgent:
    """The same loop beside a worker and observers that run elsewhere, until nothing has been asked for so long."""
    conversation = f"example-{os.getpid()}-{time.time_ns() // 1_000_000}"  # an emission id is used once
    with (
        KafkaSink(broker) as sink,
        ReEmissionReader(bootstrap=broker, wants=lambda one: one.startswith(conversation)) as reader,
        AdmittedReader(bootstrap=broker) as admitted,
    ):
        agent = MendingAgent(Recorder("mending-agent", sink, root=root), model)
        agent.answer(conversation, QUESTION, looked_at(root))
        while mend(agent, reader, seconds):
            pass
        show(one for one in admitted.catch_up() if one.emission_id.startswith(conversation))
    return agent


def mend(agent: MendingAgent, reader: ReEmissionReader, seconds: float, quiet: float = 1.0) -> bool:
    """Answers the next requests; whether another attempt was made of them."""
    requests = reader.gather(seconds, quiet)
    if not requests:
        return False
    print(f"asked to mend attempt {requests[0].attempt}:")
    for request in requests:
        print("\n".join(f"  {line}" for line in advice(request)))
    came = agent.mend(requests)
    print(came)
    return came == "mended"


def show(changes: Iterable[AnyChange]) -> None:
    """What became of the assertions."""
    for change in changes:
        print(f"{change.record.status} {change.span_key} of attempt {change.record.attempt}: {change.rendered}")


def main() -> None:
    """Parses the command line, and runs the loop.

    Raises:
        SystemExit: something cannot be done; with one sentence.
    """
    parser = argparse.ArgumentParser(description="An agent that mends what was not admitted.")
    parser.add_argument("--broker", help="Kafka's address; without it all runs in this process")
    parser.add_argument("--root", type=Path, help="the repository that the observers look at; made where none is named")
    parser.add_argument("--seconds", type=float, default=60.0, help="with a broker, to wait for a request")
    parser.add_argument("--url", default="http://127.0.0.1:4000/v1", help="of an OpenAI-compatible endpoint")
    parser.add_argument("--model", help="its name there; without it the model is a script")
    options = parser.parse_args()
    model = chat(options.url, options.model, os.environ.get("MENDING_KEY", "")) if options.model else None
    with tempfile.TemporaryDirectory() as scratch:
        root = (options.root or make_repository(Path(scratch))).resolve()
        chosen = model or scripted([FIRST, SECOND])
        try:
            if options.broker is None:
                in_this_process(root, chosen)
            else:
                beside_workers(options.broker, root, chosen, options.seconds)
        except (SluiceError, OSError) as error:
            sys.exit(f"mending: {error}")


if __name__ == "__main__":
    main()
