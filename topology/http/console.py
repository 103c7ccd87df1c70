"""The console's pages as Starlette handlers: server-rendered HTML, forms, and nothing that needs a script.

Every page escapes what it shows (Jinja's autoescape, inert.py). A form changes something only from our own Origin
(access.py); what a person decided goes through the desk and its outbox.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import cache, partial
from hashlib import sha256
from importlib import resources
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple
from urllib.parse import urlencode, urlsplit

import jinja2
from starlette.datastructures import FormData, UploadFile
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import BaseRoute

from ...codecs.errors import DoesNotHoldError, UnreachableError, UsageError
from ...codecs.identifiers import parse_span_key
from ...codecs.notes import Verifier
from ...codecs.times import format_time
from ..audit.proofs import MAX_FILE, parse_proof, verify
from . import console_pages, queries
from .auth_middleware import LOCAL, Principal, TokenScope, scopes_of
from .console_pages import HEADS, audit_says, lane_rows
from .html_escape import html_escape, is_seen
from .ledger_jobs import LaneTips, LedgerJobs
from .request_bodies import RefusedLine, TakenRecord
from .review_rules import Lease, NotDecided, ReviewRequest, reviewer_of
from .review_service import ReviewService
from .routes import Handler, principal_of, route
from .service_view import Filter
from .sign_in import CALLBACK, SESSION_HOURS, SIGN_IN_COOKIE, OidcClient, Sessions, SignInError, name_of, value_of
from .sign_in import SIGN_IN_SECONDS as OIDC_SECONDS
from .tokens import Tokens

SHOWN: Final = 50
MAX_BULK: Final = 1000
PAGES: Final = (("/", "Live"), ("/queue", "Review queue"), ("/insight", "Insight"), ("/look-up", "Look up"))
_STATIC: Final = {"console.css": "text/css", "console.js": "text/javascript"}
_PROOF_FILE: Final = 'attachment; filename="proof.json"'
_SITE: Final = {"cache-control": "max-age=300"}


class Console(NamedTuple):
    """What the pages are made of.

    Attributes:
        desk: the view, and the way of a decision.
        sessions: signs people in.
        tokens: what may sign in; None: whoever is on this machine may do all.
        verifiers: whose signatures on proofs count.
        people: signs people in at an identity provider; None: there is none.
        walks: reads ledgers for time lines and proofs; None: the pages name the commands that do.
        audit: the file with the last audit's report; None: there is none.
        tips: reads how far lanes are; None: the pages show what the view knows of it.
    """

    desk: ReviewService
    sessions: Sessions
    tokens: Tokens | None
    verifiers: Sequence[Verifier] = ()
    people: OidcClient | None = None
    walks: LedgerJobs | None = None
    audit: Path | None = None
    tips: LaneTips | None = None


@cache
def _templates() -> jinja2.Environment:
    files = resources.files(__package__ or "").joinpath("data")
    sources = {one.name: one.read_text("utf-8") for one in files.iterdir() if one.name.endswith(".html")}
    environment = jinja2.Environment(
        loader=jinja2.DictLoader(sources), autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True
    )
    environment.filters["inert"] = html_escape
    return environment


def console(parts: Console) -> list[BaseRoute]:
    """The pages and their forms."""
    desk = parts.desk
    site = _Site(parts)
    made: list[BaseRoute] = [
        route("/", site.page("read", _live)),
        route("/emissions/{id:path}", site.page("read", _emission)),
        route("/story", site.page("read", _story, is_dear=True)),
        route("/proof", site.page("read", _proof, is_dear=True)),
        route("/queue", site.page("review", _queue)),
        route("/queue/item", site.page("review", _item)),
        route("/queue/bulk", site.page("review", _bulk)),
        route("/claims", site.page("read", _claim_page)),
        route("/insight", site.page("read", _insight)),
        route("/look-up", site.page("read", _look_up)),
        route("/sign-in", site.sign_in_page),
        route("/sign-in/oidc", site.go_to_provider),
        route(CALLBACK, site.come_from_provider),
        route("/static/{name}", _static),
    ]
    forms: list[tuple[str, Handler]] = [
        ("/queue/claim", site.page("review", _claim)),
        ("/queue/release", site.page("review", _release)),
        ("/queue/decide", site.page("review", _decide)),
        ("/queue/undo", site.page("review", _undo)),
        ("/queue/bulk", site.page("review", _decide_all)),
        ("/look-up", site.page("read", _verify)),
        ("/sign-in", site.sign_in),
        ("/sign-out", site.sign_out),
    ]
    return [*made, *(route(path, handler, methods=["POST"], meter=desk.sight.meter) for path, handler in forms)]


class _Turn(NamedTuple):
    """One request of a signed-in person."""

    request: Request
    parts: Console
    who: Principal
    render: Callable[..., Response]

    @property
    def desk(self) -> ReviewService:
        return self.parts.desk

    @property
    def reviewer(self) -> str:
        return reviewer_of(self.who)

    def asked(self, name: str, most: int = 600) -> str:
        """A parameter of the query, cut."""
        return self.request.query_params.get(name, "")[:most]

    async def form(self) -> _Form:
        return _Form(await self.request.form(max_files=1, max_fields=20))

    def say(self, title: str, what: str, back: str, status: int = 200) -> Response:
        """A page with one sentence."""
        return self.render("said.html", status=status, title=title, said=what, back=back)


class _Form(NamedTuple):
    data: FormData

    def text(self, name: str) -> str:
        """A field; an empty text where it is none."""
        value = self.data.get(name, "")
        return value if isinstance(value, str) else ""


Page = Callable[[_Turn], Any]


class _Site:
    """Puts pages behind the sign-in."""

    def __init__(self, parts: Console) -> None:
        self._parts = parts

    def page(self, scope: TokenScope, page: Page, *, is_dear: bool = False) -> Handler:
        """A page for those who have a scope.

        Args:
            scope: that it needs.
            page: makes the answer.
            is_dear: it costs much: a foreign page may lead a person there, but not have it loaded as a picture.
        """

        async def handler(request: Request) -> Response:
            who = principal_of(request)
            if who is None:
                return RedirectResponse("/sign-in", 303)
            turn = _Turn(
                request, self._parts, who, lambda name, status=200, **more: self._render(request, name, status, more)
            )
            if is_dear and request.headers.get("sec-fetch-dest", "document") != "document":
                return turn.say("Not here", "Open this page by itself.", "/", 403)
            if not who.may(scope):
                return turn.say("Not allowed", f"This needs the scope {scope}.", "/sign-in", 403)
            if why := await self._parts.desk.sight.why_not():
                return turn.say("Not ready", f"{why}; look again in a moment.", str(request.url.path), 503)
            try:
                return await page(turn)
            except UnreachableError as error:
                return turn.say("Not ready", f"{error.what}; look again in a moment.", str(request.url.path), 503)
            except UsageError as error:  # of the service's settings, not of what was asked
                return turn.say("Not set up", f"{error.what}.", "/", 503)

        return handler

    async def sign_in_page(self, request: Request) -> Response:
        return self._sign_in_page(request)

    def _sign_in_page(self, request: Request, status: int = 200, notice: str = "") -> Response:
        people = self._parts.people
        provider = "" if people is None else urlsplit(people.provider.issuer).netloc
        return self._render(request, "sign-in.html", status, {"notice": notice, "provider": provider})

    async def sign_in(self, request: Request) -> Response:
        form = _Form(await request.form(max_files=0, max_fields=5))
        token = None if self._parts.tokens is None else self._parts.tokens.of(form.text("token").strip())
        if token is None:
            return self._sign_in_page(request, 403, "This token is none, or has ended.")
        principal = Principal(token.id, token.name, scopes_of(token.scopes))
        answer = RedirectResponse("/", 303)
        self._set_session(answer, principal)
        return answer

    async def go_to_provider(self, request: Request) -> Response:
        """Sends the browser to the identity provider."""
        people = self._parts.people
        if people is None:
            return self._sign_in_page(request, 404, "There is no identity provider here: sign in with a token.")
        try:
            begun = await people.begin()
        except SignInError as error:
            return self._sign_in_page(request, error.status, str(error))
        answer = RedirectResponse(begun.url, 303)
        # Lax: the browser comes back from another site, and a strict cookie would stay behind.
        self._set(answer, self._in_between, begun.kept, OIDC_SECONDS, "lax")
        return answer

    async def come_from_provider(self, request: Request) -> Response:
        """Signs in who comes back. The page leads on by itself: behind a redirect from another site the browser would
        not send the session's strict cookie yet."""
        people = self._parts.people
        if people is None:
            return self._sign_in_page(request, 404, "There is no identity provider here: sign in with a token.")
        kept = value_of(request.headers.get("cookie", ""), self._in_between)
        try:
            principal = await people.end(kept, request.query_params)
        except SignInError as error:
            answer = self._sign_in_page(request, error.status, str(error))
        else:
            answer = self._render(request, "signed-in.html", 200, {"name": principal.name})
            self._set_session(answer, principal)
        self._unset(answer, self._in_between, "lax")
        return answer

    async def sign_out(self, _: Request) -> Response:
        answer = RedirectResponse("/sign-in", 303)
        self._unset(answer, self._parts.sessions.name, "strict")
        return answer

    @property
    def _in_between(self) -> str:
        return name_of(SIGN_IN_COOKIE, is_secure=self._parts.sessions.is_secure)

    def _set_session(self, answer: Response, principal: Principal) -> None:
        sessions = self._parts.sessions
        self._set(answer, sessions.name, sessions.cookie(principal), SESSION_HOURS * 3600, "strict")

    def _set(self, answer: Response, name: str, value: str, seconds: int, site: Literal["lax", "strict"]) -> None:
        secure = self._parts.sessions.is_secure
        answer.set_cookie(name, value, max_age=seconds, path="/", secure=secure, httponly=True, samesite=site)

    def _unset(self, answer: Response, name: str, site: Literal["lax", "strict"]) -> None:
        secure = self._parts.sessions.is_secure
        answer.delete_cookie(name, path="/", secure=secure, httponly=True, samesite=site)

    def _render(self, request: Request, name: str, status: int, more: dict[str, Any]) -> Response:
        who = principal_of(request)
        given = {
            "pages": PAGES if who is not None else (),
            "page": request.url.path,
            "who": "" if who is None else who.name,
            "can_leave": who is not None and who != LOCAL,
            "notice": "",
            **more,
        }
        return HTMLResponse(_templates().get_template(name).render(given), status)


async def _static(request: Request) -> Response:
    name: str = request.path_params["name"]
    if name not in _STATIC:
        return Response(status_code=404)
    body = resources.files(__package__ or "").joinpath("data", name).read_bytes()
    return Response(body, media_type=_STATIC[name], headers=_SITE)


# ---------------------------------------------------------------- live, emission


async def _live(turn: _Turn) -> Response:
    emitter, status, effect = turn.asked("emitter", 256), turn.asked("status", 64), turn.asked("effect", 64)
    wants = Filter(*(frozenset([one] if one else []) for one in (emitter, status, effect)))
    found = await turn.desk.sight.readers.ask(lambda db: queries.newest(db, wants, SHOWN))
    query = urlencode(
        [(name, one) for name, one in (("emitter", emitter), ("status", status), ("effect", effect)) if one]
    )
    return turn.render(
        "live.html",
        rows=[console_pages.live_row(at, verdicts) for at, verdicts in found],
        statuses=console_pages.STATUSES,
        emitter=emitter,
        status_wanted=status,
        effect=effect,
        events="/v1/verdicts/events" + (f"?{query}" if query else ""),
    )


async def _emission(turn: _Turn) -> Response:
    emission_id: str = turn.request.path_params["id"] or turn.asked("id", 256)
    history = await turn.desk.sight.readers.ask(lambda db: queries.history_of(db, emission_id))
    if history.status is None and not history.decisions:
        return turn.say("Unknown", "Nothing is known of this emission.", "/look-up", 404)
    emission, statuses = console_pages.read_emission(history.emission), console_pages.statuses_of(history)
    status = history.status or {"attempt": 0, "settled": True, "assertions": []}
    assertions = [
        {
            "reason": None,
            "valid_until": None,
            "coverage": None,
            "missing_floor": 0,
            **one,
            "open": one["span_key"] in history.requests,
            "review": console_pages.item_href(f"{emission_id}#{one['span_key']}"),
        }
        for one in status["assertions"]
        if one.get("attempt", 0) == status["attempt"]
    ]
    chosen = console_pages.chosen_of(assertions, turn.asked("span", 2048), turn.asked("statement", 8))
    words, rendered = console_pages.words_of(history, chosen)
    pieces = console_pages.coloured(emission, statuses)
    return turn.render(
        "emission.html",
        id=emission_id,
        at=partial(console_pages.emission_href, emission_id),
        system=emission.emitter.system if emission is not None and emission.emitter is not None else "",
        attempt=status["attempt"],
        settled=status["settled"],
        pieces=pieces,
        assertions=assertions,
        chosen=chosen,
        words=words or "".join(one.text for one in pieces if one.key == chosen),
        rendered=rendered,
        claimed=console_pages.claimed(emission, chosen),
        answers=console_pages.answers(
            history.observations,
            chosen,
            status["attempt"],
            turn.desk.now(),
            console_pages.stated(emission, chosen, status["attempt"]),
        ),
        now_of_it=next((one for one in assertions if one["span_key"] == chosen), None),
        reviews=[row[1:] for row in history.reviews if row[0] == f"{emission_id}#{chosen}"],
        explain=console_pages.command("explain", emission_id, chosen),
        prove=console_pages.command("prove", f"{emission_id}#{chosen}"),
        walk=urlencode({"id": emission_id, "span": chosen}) if turn.parts.walks is not None else "",
    )


async def _story(turn: _Turn) -> Response:
    """The time line, as `sluice explain` tells it from the ledger: read when somebody asks for this page."""
    from ..audit.explanation_view import sections

    emission_id, span, back = _walked(turn)
    if turn.parts.walks is None or (span and parse_span_key(span) is None):
        return turn.say("Unknown", "There is no such span.", back, 404)
    try:
        told = await turn.parts.walks.story(emission_id, span or None)
    except DoesNotHoldError as error:
        return turn.say("No time line", f"{error.what}.", back, 404)
    except UnreachableError as error:
        told = console_pages.command("explain", emission_id, span)
        return turn.say("Not now", f"{error.what}; `{told}` reads it.", back, 503)
    return turn.render("story.html", id=emission_id, span=span, back=back, sections=list(sections(told)))


async def _proof(turn: _Turn) -> Response:
    """A proof as a file, as `sluice prove` writes it."""
    emission_id, span, back = _walked(turn)
    if turn.parts.walks is None:
        return turn.say("Unknown", "There is nothing here.", back, 404)
    try:
        proof = await turn.parts.walks.proof(f"{emission_id}#{span}" if span else emission_id)
    except (DoesNotHoldError, UsageError) as error:
        return turn.say("No proof", f"{error.what}.", back, 404)
    except UnreachableError as error:
        return turn.say("Not now", f"{error.what}; `sluice prove` makes one.", back, 503)
    # The name of the file is ours: an emitter chooses the id.
    return Response(proof, media_type="application/json", headers={"content-disposition": _PROOF_FILE})


def _walked(turn: _Turn) -> tuple[str, str, str]:
    """The emission, the span, and the page to go back to, of a page that reads a ledger."""
    emission_id, span = turn.asked("id", 256), turn.asked("span", 2048)
    return emission_id, span, console_pages.emission_href(emission_id, span)


# ---------------------------------------------------------------- the queue


async def _queue(turn: _Turn) -> Response:
    return await _show_queue(turn)


async def _show_queue(turn: _Turn, notice: str = "") -> Response:
    desk, now = turn.desk, turn.desk.now()
    emitter, reason, me = turn.asked("emitter", 256), turn.asked("reason", 64), turn.reviewer

    def ask(db: Any) -> Any:
        return (
            queries.open_requests(db, now, emitter, reason, me, SHOWN),
            queries.count_open(db, now, emitter, reason, me),
            queries.kinds_of_open(db, now),
            queries.policy_of(db).admissibility.review_window,
        )

    rows, count, kinds, window = await desk.sight.readers.ask(ask)
    decided, chosen = desk.outbox.holds(me), urlencode({"emitter": emitter, "reason": reason})
    return turn.render(
        "queue.html",
        notice=notice,
        rows=[console_pages.queue_row(row, window, now) for row in rows if row.key not in decided],
        count=count,
        emitter=emitter,
        reason=reason,
        at_once=MAX_BULK,
        bulk="/queue/bulk?" + chosen if (emitter or reason) and count else "",
        kinds=[(*kind, "/queue?" + urlencode({"emitter": kind[0], "reason": kind[1]})) for kind in kinds],
        outbox=_decided(turn),
    )


def _decided(turn: _Turn) -> list[dict[str, Any]]:
    """What the reviewer decided just now, for the list with its undo."""
    outbox = turn.desk.outbox
    return [
        {"id": one.id, "what": one.what, "state": one.state, "why": one.why, "left": outbox.seconds_left(one)}
        for one in outbox.of(turn.reviewer)
    ]


async def _item(turn: _Turn) -> Response:
    return await _show_item(turn, turn.asked("key", 2400))


async def _show_item(turn: _Turn, key: str, notice: str = "", status: int = 200) -> Response:
    desk, now = turn.desk, turn.desk.now()
    emission_id, _, span_key = key.partition("#")

    def ask(db: Any) -> Any:
        return (
            queries.request_of(db, key),
            queries.lease_of(db, key),
            queries.history_of(db, emission_id),
            queries.policy_of(db),
        )

    found, lease, history, policy = await desk.sight.readers.ask(ask)
    if found is None:
        return turn.say("Unknown", "This assertion is not up for review.", "/queue", 404)
    request, record = found
    emission = console_pages.read_emission(history.emission)
    live: Lease | None = lease if lease is not None and lease.is_live(now) else None
    least = policy.reviewers.min_reviewers
    # Whoever may write to the topic may leave members out: the page is there all the same.
    record = {"reason": "", "status": "", "effect": "", "attempt": request.attempt, **record}
    only = {span_key: record.get("status", "")}
    return turn.render(
        "item.html",
        status=status,
        notice=notice,
        outbox=_decided(turn),
        key=key,
        request=record,
        missing=_missing(record),
        due=format_time(request.due),
        left=console_pages.left(request.due, now),
        pieces=[one if one.key == span_key else one._replace(key="") for one in console_pages.coloured(emission, only)],
        words=queries.text_of(record),
        before=console_pages.shown(console_pages.framed(record).get("before")),
        after=console_pages.shown(console_pages.framed(record).get("after")),
        claimed=console_pages.claimed(emission, span_key),
        checks=console_pages.checks(record),
        answers=console_pages.answers(
            history.observations,
            span_key,
            request.attempt,
            now,
            console_pages.stated(emission, span_key, request.attempt),
        ),
        not_counted=console_pages.not_counted(record),
        reviews=[row[1:] for row in history.reviews if row[0] == key],
        needed=least.external if record.get("effect") == "external" else least.internal,
        admitted_by=request.admitted_by,
        mine=live is not None and live.holder == turn.reviewer,
        holder=live.holder if live is not None else "",
        until=format_time(live.until) if live is not None else "",
        open=request.is_open and now < request.due,
        emission=console_pages.emission_href(emission_id, span_key),
    )


def _missing(record: dict[str, Any]) -> str:
    classes = record.get("missing_floor", 0)
    seen = console_pages.shown(record.get("classes_seen")) or "none"
    return f"{classes} more classes needed, seen: {seen}" if classes else f"seen: {seen}"


async def _claim(turn: _Turn) -> Response:
    key = (await turn.form()).text("key")
    emission_id, _, span_key = key.partition("#")
    found, _ = await turn.desk.of(key)
    if found is None:
        return turn.say("Unknown", "This assertion is not up for review.", "/queue", 404)
    got = await turn.desk.claim(emission_id, span_key, turn.reviewer)
    if isinstance(got, NotDecided):
        return await _show_item(turn, key, f"{got.why}.", got.status)
    return RedirectResponse(console_pages.item_href(key), 303)


async def _release(turn: _Turn) -> Response:
    key = (await turn.form()).text("key")
    emission_id, _, span_key = key.partition("#")
    _, lease = await turn.desk.of(key)
    if lease is not None and lease.holder == turn.reviewer:
        await turn.desk.claim(emission_id, span_key, turn.reviewer, 0)
    return RedirectResponse("/queue", 303)


async def _decide(turn: _Turn) -> Response:
    form = await turn.form()
    key = form.text("key")
    asked = _asked(form, key, form.text("attempt"))
    if asked is None:
        return await _show_item(turn, key, "A decision needs admit or refuse, and a reason.", 422)
    made = await turn.desk.prepared(asked, turn.who, needs_lease=True)
    if isinstance(made, NotDecided):
        return await _show_item(turn, key, f"{made.why[0].upper()}{made.why[1:]}.", made.status)
    if isinstance(made, RefusedLine):
        return await _show_item(turn, key, made.sentence, 422)
    turn.desk.outbox.put(turn.reviewer, [key], [made], f"{asked.decision} {key}")
    return await _next(turn, key)


async def _next(turn: _Turn, done: str) -> Response:
    """The next request at once, with the undo on its page; the queue where there is none."""
    now, me = turn.desk.now(), turn.reviewer
    decided = turn.desk.outbox.holds(me) | {done}
    rows = await turn.desk.sight.readers.ask(lambda db: queries.open_requests(db, now, "", "", me, SHOWN))
    free = [row for row in rows if row.key not in decided and row.holder in (None, me)]
    return RedirectResponse(console_pages.item_href(free[0].key) if free else "/queue", 303)


def _asked(form: _Form, key: str, attempt: str) -> ReviewRequest | None:
    emission_id, _, span_key = key.partition("#")
    decision, reason = form.text("decision"), form.text("reason").strip()
    if decision not in ("admit", "refuse") or not is_seen(reason) or not attempt.isdecimal() or len(attempt) > 6:
        return None
    return ReviewRequest(
        emission_id=emission_id,
        span_key=span_key,
        decision="admit" if decision == "admit" else "refuse",
        reason=reason[:500],
        comment=form.text("comment")[:2000],
        attempt=int(attempt),
    )


async def _undo(turn: _Turn) -> Response:
    done = turn.desk.outbox.undo((await turn.form()).text("id"), turn.reviewer)
    return await _show_queue(turn, "Taken back." if done else "It has gone already, or is not yours.")


async def _bulk_rows(turn: _Turn, emitter: str, reason: str) -> tuple[list[queries.RequestRow], int]:
    """What a decision about all would decide, and how many somebody else holds."""
    now, me = turn.desk.now(), turn.reviewer
    rows = await turn.desk.sight.readers.ask(lambda db: queries.open_requests(db, now, emitter, reason, me, MAX_BULK))
    decided = turn.desk.outbox.holds(me)
    free = [row for row in rows if row.holder in (None, me) and row.key not in decided]
    return free, len(rows) - len(free)


def _show_bulk(
    turn: _Turn, rows: list[queries.RequestRow], held: int, emitter: str, reason: str, *, notice: str = "", status=200
) -> Response:
    return turn.render(
        "bulk.html",
        status=status,
        notice=notice,
        count=len(rows),
        of=hash_of(rows),
        held=held,
        emitter=emitter,
        reason=reason,
        rows=[(row.key, console_pages.item_href(row.key), row.text) for row in rows],
    )


def hash_of(rows: Sequence[queries.RequestRow]) -> str:
    """Names the very requests that a decision is about: which assertions, their attempts, and when they were asked."""
    told = "\n".join(sorted(f"{row.key} {row.attempt} {row.at}" for row in rows))
    return sha256(told.encode()).hexdigest()


async def _bulk(turn: _Turn) -> Response:
    emitter, reason = turn.asked("emitter", 256), turn.asked("reason", 64)
    rows, held = await _bulk_rows(turn, emitter, reason)
    return _show_bulk(turn, rows, held, emitter, reason)


async def _decide_all(turn: _Turn) -> Response:
    form = await turn.form()
    emitter, reason = form.text("emitter")[:256], form.text("for")[:64]
    rows, held = await _bulk_rows(turn, emitter, reason)
    if form.text("count") != str(len(rows)):
        notice = f"There are {len(rows)} now, not {form.text('count')[:10]}: look again before you decide."
        return _show_bulk(turn, rows, held, emitter, reason, notice=notice, status=409)
    if form.text("of") != hash_of(rows):
        notice = "They are not the same requests any more: look again before you decide."
        return _show_bulk(turn, rows, held, emitter, reason, notice=notice, status=409)
    records: list[TakenRecord] = []
    for row in rows:
        asked = _asked(form, row.key, str(row.attempt))
        if asked is None:
            notice = "A decision needs admit or refuse, and a reason."
            return _show_bulk(turn, rows, held, emitter, reason, notice=notice, status=422)
        made = await turn.desk.prepared(asked, turn.who, needs_lease=False)
        if isinstance(made, TakenRecord):
            records.append(made)
    if records:
        what = f"{form.text('decision')} {len(records)} together"
        turn.desk.outbox.put(turn.reviewer, [one.id for one in records], records, what)
    return RedirectResponse("/queue", 303)


# ---------------------------------------------------------------- insight, look up


async def _insight(turn: _Turn) -> Response:
    found, lanes = await turn.desk.sight.readers.ask(lambda db: (queries.insight_of(db), queries.lanes_of(db)))
    tips = None if turn.parts.tips is None else await turn.parts.tips.now()
    audited, is_bad = await asyncio.to_thread(audit_says, turn.parts.audit)
    return turn.render(
        "insight.html",
        sample=queries.SAMPLE,
        shares=console_pages.shares(found),
        times=console_pages.times(found),
        agreed=found.agreed,
        compared=found.compared,
        lag=sorted(found.lag.items()),
        lane_heads=HEADS,
        lanes=lane_rows(lanes, turn.parts.verifiers, tips),
        audited=audited,
        audit_is_bad=is_bad,
    )


async def _look_up(turn: _Turn) -> Response:
    asked = turn.asked("q")
    found = await turn.desk.sight.readers.ask(lambda db: queries.look_up(db, asked)) if asked else None
    return turn.render("look-up.html", q=asked, said="", holds=False, **console_pages.look_up(found, asked))


async def _claim_page(turn: _Turn) -> Response:
    """What validators say of a claim."""
    claim = turn.asked("hash", 80).lower()
    found = await turn.desk.sight.readers.ask(lambda db: queries.claim_of(db, claim))
    if not found:
        return turn.say("Unknown", "No validator has attested to this claim.", "/look-up", 404)
    return turn.render("claim.html", claim=claim, domains=[console_pages.claim_row(one) for one in found])


async def _verify(turn: _Turn) -> Response:
    file = (await turn.form()).data.get("proof")
    data = await file.read(MAX_FILE + 1) if isinstance(file, UploadFile) else b""
    said, holds = proof_says(data, turn.parts.verifiers)
    return turn.render("look-up.html", q="", said=said, holds=holds, **console_pages.look_up(None, ""))


def proof_says(data: bytes, verifiers: Sequence[Verifier]) -> tuple[str, bool]:
    """What a proof shows in one sentence, and whether it holds."""
    if not verifiers:
        return "This service knows no key that a proof could be signed with: --verifier names one.", False
    if len(data) > MAX_FILE:
        return f"This is no proof: it has more than {MAX_FILE} bytes.", False
    try:
        shown, signers = verify(parse_proof(data), verifiers)
    except DoesNotHoldError as error:
        return f"It does not hold: {error}", False
    limit = f"; {shown.limit}" if shown.limit else ""
    return f"It holds: {shown.subject}, signed by {' and '.join(map(str, signers))}{limit}", True
