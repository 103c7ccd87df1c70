"""How a command ends: one sentence on standard error, and the exit status that the contract names
(docs/reference/commands.md).
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import click
from click.exceptions import Exit, NoArgsIsHelpError

from ...codecs.errors import SluiceError, printable
from .standard_streams import standard_streams

T = TypeVar("T")

INTERRUPTED = 130
"""What a shell expects of a command that Ctrl-C has ended."""


def ended(command: Callable[[], Any], debug: bool) -> int:
    """Runs a command that leaves its exceptions to us, and returns its exit status.

    Args:
        command: Click's, without its standalone mode: it returns the status of `Exit`, as of `--help`, or None.
        debug: our errors and strangers' are raised, for the traceback.
    """
    try:
        with standard_streams():
            status = command()
        return status if isinstance(status, int) else 0
    except Exit as end:
        return end.exit_code
    except NoArgsIsHelpError as error:
        error.show()
        return error.exit_code
    except click.ClickException as error:
        _say(_usage(error))
        return error.exit_code
    except SluiceError as error:
        if debug:
            raise
        _say(str(error))
        return error.exit_status
    except Exception as error:  # a stranger gets a sentence, `--debug` the traceback
        if isinstance(error, click.Abort) and not isinstance(error.__cause__, EOFError):
            _say("interrupted")
            return INTERRUPTED
        if debug:
            raise
        stranger = error.__cause__ if isinstance(error, click.Abort) and error.__cause__ else error
        _say(f"{type(stranger).__name__}: {stranger}; run again with --debug for the traceback")
        return 1


def run_to_its_end(work: Coroutine[Any, Any, T], seconds: float) -> T:
    """`asyncio.run` for work whose result must not wait for what it leaves behind.

    `asyncio.run` waits for every task that is left, without a bound; here they get some time (`end_what_is_left`).

    Args:
        work: what to run.
        seconds: how long the tasks that are left may take to end once they are cancelled, and then the generators.
            Threads are waited for when the process ends.

    Raises:
        Exception: what the work raises.
    """
    import asyncio  # most commands run without it, and it takes a tenth of a short one to import

    from ..settings.loop_ending import end_what_is_left

    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    try:
        return loop.run_until_complete(work)
    finally:
        try:
            loop.run_until_complete(end_what_is_left(seconds))
        finally:
            asyncio.set_event_loop(None)
            loop.close()


def _usage(error: click.ClickException) -> str:
    """Click's message in one line, and where the right usage stands."""
    what = " ".join(error.format_message().split()).rstrip(".")
    context = error.ctx if isinstance(error, click.UsageError) else None
    return what if context is None else f"{what}; see {context.command_path} --help"


def _say(sentence: str) -> None:
    click.echo(f"sluice: {printable(sentence)}", err=True)
