"""The console's pages as Starlette handlers: server-rendered HTML, forms, and nothing that needs a script.

Every page escapes what it shows (Jinja's autoescape, html_escape.py). A form changes something only from our own Origin
(auth_middleware.py); what a person decided goes through the review service and its outbox.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import cache, partial
from hashlib import sha256
from importlib import resources
from pathlib import Path
from sqlite3 import Connection
from typing import Any, Final, Literal, NamedTuple, TypeVar, cast
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
_NO_PROVIDER: Final = "There is no identity provider here: sign in with a token."
T = TypeVar("T")


class Console(NamedTuple):
    """What the pages are made of.

    Attributes:
        service: the view, and the way of a decision.
        sessions: signs people in.
        tokens: what may sign in; None: every client on this machine may do all.
        verifiers: whose signatures on proofs count.
        people: signs people in at an identity provider; None: there is none.
        jobs: reads ledgers for time lines and proofs; None: the pages name the commands that do.
        audit: the file with the last audit's report; None: there is none.
        tips: reads how far lanes are; None: the pages show what the view knows of it.
    """

    service: ReviewService
    sessions: Sessions
    tokens: Tokens | None
    verifiers: Sequence[Verifier] = ()
    people: OidcClient | None = None
    jobs: LedgerJobs | None = None
    audit: Path | None = None
    tips: LaneTips | None = None


@cache
def _templates() -> jinja2.Environment:
    files = resources.files(__package__ or "").joinpath("data")
    sources = {one.name: one.read_text("utf-8") for one in files.iterdir() if one.name.endswith(".html")}
    environment = jinja2.Environment(
        loader=jinja2.DictLoader(sources), autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True
    )
    cast("dict[str, Any]", environment.filters)["html_escape"] = html_escape
    return environment


def console(parts: Console) -> list[BaseRoute]:
    """The pages and their forms."""
    site = _Site(parts)
    pages: list[tuple[str, Handler]] = [
        ("/", site.page("read", _live)),
        ("/emissions/{id:path}", site.page("read", _emission)),
        ("/story", site.page("read", _story, is_dear=True)),
        ("/proof", site.page("read", _proof, is_dear=True)),
        ("/queue", site.page("review", _queue)),
        ("/queue/item", site.page("review", _item)),
        ("/queue/bulk", site.page("review", _bulk)),
        ("/claims", site.page("read", _claim_page)),
        ("/insight", site.page("read", _insight)),
        ("/look-up", site.page("read", _look_up)),
        ("/sign-in", site.sign_in_page),
        ("/sign-in/oidc", site.go_to_provider),
        (CALLBACK, site.come_from_provider),
        ("/static/{name}", _static),
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
    return [
        *(route(path, handler) for path, handler in pages),
        *(route(path, handler, methods=["POST"], meter=parts.service.sight.meter) for path, handler in forms),
    ]


class _Visit(NamedTuple):
    """One request of a signed-in person."""

    request: Request
    parts: Console
    who: Principal
    render: Callable[..., Response]

    @property
    def service(self) -> ReviewService:
        return self.parts.service

    @property
    def reviewer(self) -> str:
        return reviewer_of(self.who)

    def asked(self, name: str, most: int = 600) -> str:
        """A parameter of the query, cut."""
        return self.request.query_params.get(name, "")[:most]

    async def ask(self, question: Callable[[Connection], T]) -> T:
        """What the view answers."""
        return await self.service.sight.readers.ask(question)

    async def form(self) -> FormData:
        return await self.request.form(max_files=1, max_fields=20)

    def say(self, title: str, what: str, back: str, status: int = 200) -> Response:
        """A page with one sentence."""
        return self.render("said.html", status=status, title=title, said=what, back=back)


def _text(form: FormData, name: str) -> str:
    """A field; an empty text where it is none."""
    value = form.get(name, "")
    return value if isinstance(value, str) else ""


Page = Callable[[_Visit], Any]


class _Site:
    """Puts pages behind the sign-in."""

    def __init__(self, parts: Console) -> None:
        self._parts = parts

    def page(self, scope: TokenScope, page: Page, *, is_dear: bool = False) -> Handler:
        """A page for those who have a scope.

        One that is dear costs much: a foreign page may lead a person there, but not have it loaded as a picture.
        """

        async def handler(request: Request) -> Response:
            who = principal_of(request)
            if who is None:
                return RedirectResponse("/sign-in", 303)
            visit = _Visit(request, self._parts, who, partial(self._render, request))
            if is_dear and request.headers.get("sec-fetch-dest", "document") != "document":
                return visit.say("Not here", "Open this page by itself.", "/", 403)
            if not who.may(scope):
                return visit.say("Not allowed", f"This needs the scope {scope}.", "/sign-in", 403)
            try:
                if why := await self._parts.service.sight.why_not():
                    raise UnreachableError(why)
                return await page(visit)
            except UnreachableError as error:
                return visit.say("Not ready", f"{error.what}; look again in a moment.", str(request.url.path), 503)
            except UsageError as error:  # of the service's settings, not of what was asked
                return visit.say("Not set up", f"{error.what}.", "/", 503)

        return handler

    async def sign_in_page(self, request: Request, status: int = 200, notice: str = "") -> Response:
        people = self._parts.people
        provider = "" if people is None else urlsplit(people.provider.issuer).netloc
        return self._render(request, "sign-in.html", status, notice=notice, provider=provider)

    async def sign_in(self, request: Request) -> Response:
        form = await request.form(max_files=0, max_fields=5)
        token = None if self._parts.tokens is None else self._parts.tokens.of(_text(form, "token").strip())
        if token is None:
            return await self.sign_in_page(request, 403, "This token is none, or has ended.")
        principal = Principal(token.id, token.name, scopes_of(token.scopes))
        answer = RedirectResponse("/", 303)
        self._set_session(answer, principal)
        return answer

    async def go_to_provider(self, request: Request) -> Response:
        """Sends the browser to the identity provider."""
        people = self._parts.people
        if people is None:
            return await self.sign_in_page(request, 404, _NO_PROVIDER)
        try:
            begun = await people.begin()
        except SignInError as error:
            return await self.sign_in_page(request, error.status, str(error))
        answer = RedirectResponse(begun.url, 303)
        # Lax: the browser comes back from another site, and a strict cookie would stay behind.
        self._set(answer, self._in_between, begun.kept, OIDC_SECONDS, "lax")
        return answer

    async def come_from_provider(self, request: Request) -> Response:
        """Signs in who comes back. The page leads on by itself: behind a redirect from another site the browser would
        not send the session's strict cookie yet."""
        people = self._parts.people
        if people is None:
            return await self.sign_in_page(request, 404, _NO_PROVIDER)
        kept = value_of(request.headers.get("cookie", ""), self._in_between)
        try:
            principal = await people.end(kept, request.query_params)
        except SignInError as error:
            answer = await self.sign_in_page(request, error.status, str(error))
        else:
            answer = self._render(request, "signed-in.html", name=principal.name)
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

    def _render(self, request: Request, template: str, /, status: int = 200, **more: Any) -> Response:
        who = principal_of(request)
        given = {
            "pages": PAGES if who is not None else (),
            "page": request.url.path,
            "who": "" if who is None else who.name,
            "can_leave": who is not None and who != LOCAL,
            "notice": "",
            **more,
        }
        return HTMLResponse(_templates().get_template(template).render(given), status)


async def _static(request: Request) -> Response:
    name: str = request.path_params["name"]
    if name not in _STATIC:
        return Response(status_code=404)
    body = resources.files(__package__ or "").joinpath("data", name).read_bytes()
    return Response(body, media_type=_STATIC[name], headers=_SITE)


# ---------------------------------------------------------------- live, emission


async def _live(visit: _Visit) -> Response:
    emitter, status, effect = visit.asked("emitter", 256), visit.asked("status", 64), visit.asked("effect", 64)
    wants = Filter(*(frozenset([one] if one else []) for one in (emitter, status, effect)))
    found = await visit.ask(lambda db: queries.newest(db, wants, SHOWN))
    query = urlencode(
        [(name, one) for name, one in (("emitter", emitter), ("status", status), ("effect", effect)) if one]
    )
    return visit.render(
        "live.html",
        rows=[console_pages.live_row(at, verdicts) for at, verdicts in found],
        statuses=console_pages.STATUSES,
        emitter=emitter,
        status_wanted=status,
        effect=effect,
        events="/v1/verdicts/events" + (f"?{query}" if query else ""),
    )


async def _emission(visit: _Visit) -> Response:
    emission_id: str = visit.request.path_params["id"] or visit.asked("id", 256)
    history = await visit.ask(lambda db: queries.history_of(db, emission_id))
    if history.status is None and not history.decisions:
        return visit.say("Unknown", "Nothing is known of this emission.", "/look-up", 404)
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
    chosen = console_pages.chosen_of(assertions, visit.asked("span", 2048), visit.asked("statement", 8))
    words, rendered = console_pages.words_of(history, chosen)
    pieces = console_pages.coloured(emission, statuses)
    return visit.render(
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
            visit.service.now(),
            console_pages.stated(emission, chosen, status["attempt"]),
        ),
        now_of_it=next((one for one in assertions if one["span_key"] == chosen), None),
        reviews=[row[1:] for row in history.reviews if row[0] == f"{emission_id}#{chosen}"],
        explain=console_pages.command("explain", emission_id, chosen),
        prove=console_pages.command("prove", f"{emission_id}#{chosen}"),
        walk=urlencode({"id": emission_id, "span": chosen}) if visit.parts.jobs is not None else "",
    )


async def _story(visit: _Visit) -> Response:
    """The time line, as `sluice explain` tells it from the ledger: read when somebody asks for this page."""
    from ..audit.explanation_view import sections

    emission_id, span, back = _walked(visit)
    if visit.parts.jobs is None or (span and parse_span_key(span) is None):
        return visit.say("Unknown", "There is no such span.", back, 404)
    try:
        told = await visit.parts.jobs.story(emission_id, span or None)
    except DoesNotHoldError as error:
        return visit.say("No time line", f"{error.what}.", back, 404)
    except UnreachableError as error:
        told = console_pages.command("explain", emission_id, span)
        return visit.say("Not now", f"{error.what}; `{told}` reads it.", back, 503)
    return visit.render("story.html", id=emission_id, span=span, back=back, sections=list(sections(told)))


async def _proof(visit: _Visit) -> Response:
    """A proof as a file, as `sluice prove` writes it."""
    emission_id, span, back = _walked(visit)
    if visit.parts.jobs is None:
        return visit.say("Unknown", "There is nothing here.", back, 404)
    try:
        proof = await visit.parts.jobs.proof(f"{emission_id}#{span}" if span else emission_id)
    except (DoesNotHoldError, UsageError) as error:
        return visit.say("No proof", f"{error.what}.", back, 404)
    except UnreachableError as error:
        return visit.say("Not now", f"{error.what}; `sluice prove` makes one.", back, 503)
    # The name of the file is ours: an emitter chooses the id.
    return Response(proof, media_type="application/json", headers={"content-disposition": _PROOF_FILE})


def _walked(visit: _Visit) -> tuple[str, str, str]:
    """The emission, the span, and the page to go back to, of a page that reads a ledger."""
    emission_id, span = visit.asked("id", 256), visit.asked("span", 2048)
    return emission_id, span, console_pages.emission_href(emission_id, span)


# ---------------------------------------------------------------- the queue


async def _queue(visit: _Visit, notice: str = "") -> Response:
    service, now, me = visit.service, visit.service.now(), visit.reviewer
    emitter, reason = visit.asked("emitter", 256), visit.asked("reason", 64)
    rows, count, kinds, window = await visit.ask(
        lambda db: (
            queries.open_requests(db, now, emitter, reason, me, SHOWN),
            queries.count_open(db, now, emitter, reason, me),
            queries.kinds_of_open(db, now),
            queries.policy_of(db).admissibility.review_window,
        )
    )
    decided, chosen = service.outbox.holds(me), urlencode({"emitter": emitter, "reason": reason})
    return visit.render(
        "queue.html",
        notice=notice,
        rows=[console_pages.queue_row(row, window, now) for row in rows if row.key not in decided],
        count=count,
        emitter=emitter,
        reason=reason,
        at_once=MAX_BULK,
        bulk="/queue/bulk?" + chosen if (emitter or reason) and count else "",
        kinds=[(*kind, "/queue?" + urlencode({"emitter": kind[0], "reason": kind[1]})) for kind in kinds],
        outbox=_decided(visit),
    )


def _decided(visit: _Visit) -> list[dict[str, Any]]:
    """What the reviewer decided just now, for the list with its undo."""
    outbox = visit.service.outbox
    return [
        {"id": one.id, "what": one.what, "state": one.state, "why": one.why, "left": outbox.seconds_left(one)}
        for one in outbox.of(visit.reviewer)
    ]


async def _item(visit: _Visit, key: str = "", notice: str = "", status: int = 200) -> Response:
    key, now = key or visit.asked("key", 2400), visit.service.now()
    emission_id, _, span_key = key.partition("#")
    found, lease, history, policy = await visit.ask(
        lambda db: (
            queries.request_of(db, key),
            queries.lease_of(db, key),
            queries.history_of(db, emission_id),
            queries.policy_of(db),
        )
    )
    if found is None:
        return visit.say("Unknown", "This assertion is not up for review.", "/queue", 404)
    request, record = found
    emission = console_pages.read_emission(history.emission)
    live: Lease | None = lease if lease is not None and lease.is_live(now) else None
    least = policy.reviewers.min_reviewers
    # A writer of the topic may leave members out: the page is there all the same.
    record = {"reason": "", "status": "", "effect": "", "attempt": request.attempt, **record}
    only: dict[str, str] = {span_key: str(record.get("status", ""))}
    return visit.render(
        "item.html",
        status=status,
        notice=notice,
        outbox=_decided(visit),
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
        mine=live is not None and live.holder == visit.reviewer,
        holder=live.holder if live is not None else "",
        until=format_time(live.until) if live is not None else "",
        open=request.is_open and now < request.due,
        emission=console_pages.emission_href(emission_id, span_key),
    )


def _missing(record: dict[str, Any]) -> str:
    classes = record.get("missing_floor", 0)
    seen = console_pages.shown(record.get("classes_seen")) or "none"
    return f"{classes} more classes needed, seen: {seen}" if classes else f"seen: {seen}"


async def _claim(visit: _Visit) -> Response:
    key = _text(await visit.form(), "key")
    found, _ = await visit.service.of(key)
    if found is None:
        return visit.say("Unknown", "This assertion is not up for review.", "/queue", 404)
    got = await visit.service.claim(key, visit.reviewer)
    if isinstance(got, NotDecided):
        return await _item(visit, key, f"{got.why}.", got.status)
    return RedirectResponse(console_pages.item_href(key), 303)


async def _release(visit: _Visit) -> Response:
    key = _text(await visit.form(), "key")
    _, lease = await visit.service.of(key)
    if lease is not None and lease.holder == visit.reviewer:
        await visit.service.claim(key, visit.reviewer, 0)
    return RedirectResponse("/queue", 303)


async def _decide(visit: _Visit) -> Response:
    form = await visit.form()
    key = _text(form, "key")
    asked = _asked(form, key, _text(form, "attempt"))
    if asked is None:
        return await _item(visit, key, "A decision needs admit or refuse, and a reason.", 422)
    made = await visit.service.prepared(asked, visit.who, needs_lease=True)
    if isinstance(made, NotDecided):
        return await _item(visit, key, f"{made.why[0].upper()}{made.why[1:]}.", made.status)
    if isinstance(made, RefusedLine):
        return await _item(visit, key, made.sentence, 422)
    visit.service.outbox.put(visit.reviewer, [key], [made], f"{asked.decision} {key}")
    return await _next(visit, key)


async def _next(visit: _Visit, done: str) -> Response:
    """The next request at once, with the undo on its page; the queue where there is none."""
    now, me = visit.service.now(), visit.reviewer
    decided = visit.service.outbox.holds(me) | {done}
    rows = await visit.ask(lambda db: queries.open_requests(db, now, "", "", me, SHOWN))
    free = [row for row in rows if row.key not in decided and row.holder in (None, me)]
    return RedirectResponse(console_pages.item_href(free[0].key) if free else "/queue", 303)


def _asked(form: FormData, key: str, attempt: str) -> ReviewRequest | None:
    emission_id, _, span_key = key.partition("#")
    decision, reason = _text(form, "decision"), _text(form, "reason").strip()
    if decision not in ("admit", "refuse") or not is_seen(reason) or not attempt.isdecimal() or len(attempt) > 6:
        return None
    return ReviewRequest(
        emission_id=emission_id,
        span_key=span_key,
        decision="admit" if decision == "admit" else "refuse",
        reason=reason[:500],
        comment=_text(form, "comment")[:2000],
        attempt=int(attempt),
    )


async def _undo(visit: _Visit) -> Response:
    done = visit.service.outbox.undo(_text(await visit.form(), "id"), visit.reviewer)
    return await _queue(visit, "Taken back." if done else "It has gone already, or is not yours.")


async def _bulk_rows(
    visit: _Visit, emitter: str, reason: str
) -> tuple[list[queries.RequestRow], Callable[..., Response]]:
    """What a decision about all would decide, and what makes the page that shows it."""
    now, me = visit.service.now(), visit.reviewer
    rows = await visit.ask(lambda db: queries.open_requests(db, now, emitter, reason, me, MAX_BULK))
    decided = visit.service.outbox.holds(me)
    free = [row for row in rows if row.holder in (None, me) and row.key not in decided]
    page = partial(
        visit.render,
        "bulk.html",
        count=len(free),
        of=hash_of(free),
        held=len(rows) - len(free),
        emitter=emitter,
        reason=reason,
        rows=[(row.key, console_pages.item_href(row.key), row.text) for row in free],
    )
    return free, page


def hash_of(rows: Sequence[queries.RequestRow]) -> str:
    """Names the very requests that a decision is about: which assertions, their attempts, and when they were asked."""
    told = "\n".join(sorted(f"{row.key} {row.attempt} {row.at}" for row in rows))
    return sha256(told.encode()).hexdigest()


async def _bulk(visit: _Visit) -> Response:
    _, page = await _bulk_rows(visit, visit.asked("emitter", 256), visit.asked("reason", 64))
    return page()


async def _decide_all(visit: _Visit) -> Response:
    form = await visit.form()
    rows, page = await _bulk_rows(visit, _text(form, "emitter")[:256], _text(form, "for")[:64])
    if (count := _text(form, "count")) != str(len(rows)):
        return page(notice=f"There are {len(rows)} now, not {count[:10]}: look again before you decide.", status=409)
    if _text(form, "of") != hash_of(rows):
        return page(notice="They are not the same requests any more: look again before you decide.", status=409)
    records: list[TakenRecord] = []
    for row in rows:
        asked = _asked(form, row.key, str(row.attempt))
        if asked is None:
            return page(notice="A decision needs admit or refuse, and a reason.", status=422)
        made = await visit.service.prepared(asked, visit.who, needs_lease=False)
        if isinstance(made, TakenRecord):
            records.append(made)
    if records:
        what = f"{_text(form, 'decision')} {len(records)} together"
        visit.service.outbox.put(visit.reviewer, [record.id for record in records], records, what)
    return RedirectResponse("/queue", 303)


# ---------------------------------------------------------------- insight, look up


async def _insight(visit: _Visit) -> Response:
    found, lanes = await visit.ask(lambda db: (queries.insight_of(db), queries.lanes_of(db)))
    tips = None if visit.parts.tips is None else await visit.parts.tips.now()
    audited, is_bad = await asyncio.to_thread(audit_says, visit.parts.audit)
    return visit.render(
        "insight.html",
        sample=queries.SAMPLE,
        shares=console_pages.shares(found),
        times=console_pages.times(found),
        agreed=found.agreed,
        compared=found.compared,
        lag=sorted(found.lag.items()),
        lane_heads=HEADS,
        lanes=lane_rows(lanes, visit.parts.verifiers, tips),
        audited=audited,
        audit_is_bad=is_bad,
    )


async def _look_up(visit: _Visit) -> Response:
    asked = visit.asked("q")
    found = await visit.ask(lambda db: queries.look_up(db, asked)) if asked else None
    return visit.render("look-up.html", q=asked, said="", holds=False, **console_pages.look_up(found, asked))


async def _claim_page(visit: _Visit) -> Response:
    """What validators say of a claim."""
    claim = visit.asked("hash", 80).lower()
    found = await visit.ask(lambda db: queries.claim_of(db, claim))
    if not found:
        return visit.say("Unknown", "No validator has attested to this claim.", "/look-up", 404)
    return visit.render("claim.html", claim=claim, domains=[console_pages.claim_row(one) for one in found])


async def _verify(visit: _Visit) -> Response:
    file = (await visit.form()).get("proof")
    data = await file.read(MAX_FILE + 1) if isinstance(file, UploadFile) else b""
    said, holds = proof_says(data, visit.parts.verifiers)
    return visit.render("look-up.html", q="", said=said, holds=holds, **console_pages.look_up(None, ""))


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
