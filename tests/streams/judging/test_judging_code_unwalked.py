"""A definition is walked only where it has what is asked for, and that changes no answer."""

from __future__ import annotations

import re
from itertools import product

import pytest

from sluice.streams.judging import code_relations
from sluice.streams.judging.checks import Check, parse_check
from sluice.streams.judging.code import parse_code, verify_code
from sluice.streams.judging.results import Source

PYTHON = """\
type Alias = int

def stop(job, limit=cap()):
    print(job)
    type(job).state = 1
    return (job.run)

def run(job):
    \"\"\"Calls stop in words.\"\"\"
    def inner():
        stop(job)
    later = lambda: cap()
    if False:
        cap()
    job.queue.stop()
    return inner

def late(job):
    if job:
        return stop(
            job
        )
        cap()
    for run in job:
        if True:
            raise cap(run)
        else:
            stop(run)
        run.stop()
    with stop(job) as inner:
        return inner
    return cap

def both(job):
    return stop(job)
    yield job

class Pool:
    def start(self):
        return self.run(1)[0](2)

    async def größe(self):
        return await stop(ſtop)
"""
GO = """\
package a
func Stop(j Job) int { return j.Cap }
func Run(j Job) { go Stop(j); f := func() { Start() }; defer j.Queue.Stop() ; _ = f }
"""
RUBY = """\
def stop(job)
  job.send(:run)
  cap
end
def run = stop(1)
"""
C = """\
#define CALL(x) x()
int stop(int a) { CALL(run); return cap(a); }
int run(void) { return stop(1) + sizeof(cap); }
"""
RUST = """\
fn stop(a: u8) -> u8 { println!("{a} {cap}"); a }
fn run() -> u8 { vec![stop(1)].pop().unwrap() }
"""
SCRIPT = """\
function stop(job: Job): number {
  switch (job) { case 1: return cap(job); run(job); case 2: run(cap); }
  return cap(job)
}
const run = (job) => stop(job).later(() => cap(job)).run;
class Pool { start() { if (false) { stop(1) } else { cap(1) } return this.run?.(stop) } }
"""
JAVA = """\
class A { int stop(int a) { for (;;) { break; run(a); } return cap(a); } int run(int a) { return (stop(a)); } }
"""
SHELL = 'stop() { eval run; cap "$1"; }\nrun() { stop | cap; }\n'
FILES = {
    "a.py": PYTHON,
    "a.go": GO,
    "a.rb": RUBY,
    "a.c": C,
    "a.rs": RUST,
    "a.sh": SHELL,
    "a.ts": SCRIPT,
    "A.java": JAVA,
}


@pytest.mark.parametrize("path", FILES)
def test_what_is_not_walked_has_the_answer_of_a_walk(path: str, monkeypatch: pytest.MonkeyPatch):
    """Every two names of a file, for each check that looks into a body: also calls that only a hint tells, such as
    those of macros, of `send`, and of statements that are parsed as something else."""
    text = FILES[path]
    source = Source(path, text, digest="sha256:0")
    code = parse_code(source)
    assert code is not None
    names = sorted(set(re.findall(r"[^\W\d]\w*", text)))
    texts = [f"{name}({one}, {other})" for name in ("calls", "uses", "returns") for one, other in product(names, names)]
    texts += ['returns(stop, "(job.run)")', 'returns(start, "self.run(1)[0](2)")', "calls(run, queue.stop)"]
    texts += ['returns(late, "stop( job )")', 'returns(both, "stop(job)")', 'returns(run, "stop(a)")']
    texts += ['returns(stop, "cap(job)")', 'returns(stop, "cap(a)")', "calls(stop, job.run)"]
    checks = [check for check in map(parse_check, texts) if isinstance(check, Check)]
    quick = [verify_code(check, code, source) for check in checks]
    monkeypatch.setattr(code_relations, "_places", lambda *_: None)
    walked = [verify_code(check, code, source) for check in checks]
    assert quick == walked
    assert {held.holds for held in walked} >= {True, None}
