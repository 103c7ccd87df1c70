"""What coding agents write about code, with checks that say its main clause: how much of it is wholly covered.

Adverbs, causes, «requires Python 3.9 or newer» and other things that no check says stand among them on purpose.
"""

from __future__ import annotations

from sluice.streams.judging.checks import Check, Unknown, parse_check
from sluice.streams.judging.coverage import cover

SENTENCES = r"""
`Session.request` in `src/requests/sessions.py` calls `self.send`.
    calls(Session.request, self.send, path=src/requests/sessions.py)
`requests.get()` is a thin wrapper that calls `request()`.
    calls(get, request, path=src/requests/api.py)
`DEFAULT_REDIRECT_LIMIT` is 30 in `requests/models.py`.
    equals(DEFAULT_REDIRECT_LIMIT, 30, path=src/requests/models.py)
The default redirect limit is 30 (`DEFAULT_REDIRECT_LIMIT` in `models.py`).
    equals(DEFAULT_REDIRECT_LIMIT, 30, path=src/requests/models.py)
`DEFAULT_POOLSIZE = 10` in `adapters.py`.
    equals(DEFAULT_POOLSIZE, 10, path=src/requests/adapters.py)
`HTTPAdapter` is defined in `src/requests/adapters.py`.
    defines(HTTPAdapter, type, path=src/requests/adapters.py)
The class `HTTPAdapter` lives in `src/requests/adapters.py`.
    defines(HTTPAdapter, type, path=src/requests/adapters.py)
`src/requests/adapters.py` defines the `HTTPAdapter` class.
    defines(HTTPAdapter, type, path=src/requests/adapters.py)
`src/requests/adapters.py:41` defines `DEFAULT_POOLBLOCK`.
    defines(DEFAULT_POOLBLOCK, path=src/requests/adapters.py, lines=41)
`DEFAULT_POOLBLOCK` is set to `False` at `adapters.py:41`.
    equals(DEFAULT_POOLBLOCK, false, path=src/requests/adapters.py, lines=41)
`utils.py` imports `socket` and `struct`.
    imports(socket, path=src/requests/utils.py)
    imports(struct, path=src/requests/utils.py)
`requests/api.py` imports `sessions` from the package.
    imports(sessions, path=src/requests/api.py)
`get_netrc_auth` returns `None` when no netrc file exists.
    returns(get_netrc_auth, None, path=src/requests/utils.py)
`Response.ok` calls `raise_for_status()` and returns `True`.
    calls(Response.ok, raise_for_status)
    returns(Response.ok, True)
The `ok` property of `Response` calls `raise_for_status`.
    calls(Response.ok, raise_for_status)
There is no call to `eval` in `utils.py`.
    absent(eval, path=src/requests/utils.py)
`utils.py` does not use `eval`.
    absent(eval, path=src/requests/utils.py)
`eval` does not appear anywhere in `utils.py`.
    absent(eval, path=src/requests/utils.py)
`pyproject.toml` sets `requires-python` to `>=3.9`.
    equals(project.requires-python, ">=3.9", path=pyproject.toml)
In `pyproject.toml`, `line-length` is 120.
    equals(tool.ruff.line-length, 120, path=pyproject.toml)
The `line-length` setting in `pyproject.toml` is 120.
    equals(tool.ruff.line-length, 120, path=pyproject.toml)
`tool.ruff.line-length` is set to 120 in pyproject.toml.
    equals(tool.ruff.line-length, 120, path=pyproject.toml)
Ruff's line length is 120.
    equals(tool.ruff.line-length, 120, path=pyproject.toml)
The project requires Python >=3.9.
    equals(project.requires-python, ">=3.9", path=pyproject.toml)
The project version is 2.32.3.
    equals(project.version, "2.32.3", path=pyproject.toml)
`version` in `pyproject.toml` is `2.32.3`.
    equals(project.version, "2.32.3", path=pyproject.toml)
`__version__` is `"2.32.3"`.
    equals(__version__, "2.32.3", path=src/requests/__version__.py)
`Makefile` has a `lint` target.
    defines(lint, target, path=Makefile)
The Makefile's `lint` target runs `ruff check`.
    contains("ruff check", path=Makefile, in=lint)
The `lint` target in the Makefile contains `ruff check`.
    contains("ruff check", path=Makefile, in=lint)
README.md contains the text "pip install requests".
    contains("pip install requests", path=README.md)
README.md has a section titled "Installation".
    defines(Installation, section, path=README.md)
The README mentions `conda`.
    contains(conda, path=README.md)
The README does not mention `conda`.
    absent(conda, path=README.md)
`HISTORY.md` has an entry for 2.32.3.
    defines("2.32.3", section, path=HISTORY.md)
`setup.py` does not exist.
    missing(setup.py)
There is no `setup.py` in the repository.
    missing(setup.py)
There is no `tox.ini`.
    missing(tox.ini)
`tests/test_utils.py` exists.
    exists(tests/test_utils.py)
The repository contains `docs/index.rst`.
    exists(docs/index.rst)
Commit 0e322af7 was made by Nate Prewitt on 2024-05-29.
    commit(0e322af7, author="Nate Prewitt", date=2024-05-29)
Commit `0e322af7` is dated 2024-05-29.
    commit(0e322af7, date=2024-05-29)
Commit 0e322af7 changed `setup.cfg`.
    changed(setup.cfg, 0e322af7)
Commit 0e322af7 touches `setup.cfg` and `tox.ini`.
    changed(setup.cfg, 0e322af7)
    changed(tox.ini, 0e322af7)
The subject of commit 0e322af7 is "v2.32.3".
    commit(0e322af7, subject="v2.32.3")
`setup.cfg` was last changed on 2024-05-29.
    last_changed(setup.cfg, =, 2024-05-29)
`setup.cfg` was last modified before June 2024.
    last_changed(setup.cfg, <, 2024-06)
`TODO` occurs 4 times in `sessions.py`.
    count(TODO, =, 4, path=src/requests/sessions.py)
There are 4 TODOs in `sessions.py`.
    count(TODO, =, 4, path=src/requests/sessions.py)
`sessions.py` contains at least three occurrences of `warnings`.
    count(warnings, >=, 3, path=src/requests/sessions.py)
Line 12 of `sessions.py` imports `sys`.
    line(src/requests/sessions.py, 12, "import sys")
Line 12 of `sessions.py` has `import sys`.
    line(src/requests/sessions.py, 12, "import sys")
`sessions.py:12` has `import sys`.
    line(src/requests/sessions.py, 12, "import sys")
In `sessions.py`, `import os` comes before `import sys`.
    order("import os", "import sys", path=src/requests/sessions.py)
`max_retries` is at least 3.
    compare(max_retries, >=, 3)
`HTTPAdapter.max_retries` defaults to `DEFAULT_RETRIES`.
    equals(HTTPAdapter.max_retries, DEFAULT_RETRIES)
`DEFAULT_RETRIES` is 0, so no retries happen by default.
    equals(DEFAULT_RETRIES, 0)
`send` does not call `close`.
    not calls(send, close)
`HTTPAdapter.send` never calls `close`.
    not calls(HTTPAdapter.send, close)
`HTTPAdapter.send` uses `extract_cookies_to_jar`.
    uses(HTTPAdapter.send, extract_cookies_to_jar)
`DEFAULT_CA_BUNDLE_PATH` is used in `cert_verify`.
    uses(cert_verify, DEFAULT_CA_BUNDLE_PATH)
`Session.send()` calls `adapter.send()` and then `dispatch_hook`.
    calls(Session.send, adapter.send)
    calls(Session.send, dispatch_hook)
`Session.send()` calls `adapter.send()`, `dispatch_hook()` and `extract_cookies_to_jar()`.
    calls(Session.send, adapter.send)
    calls(Session.send, dispatch_hook)
    calls(Session.send, extract_cookies_to_jar)
`merge_setting` is defined in `sessions.py` and is called by `Session.request`.
    defines(merge_setting, path=src/requests/sessions.py)
    calls(Session.request, merge_setting, path=src/requests/sessions.py)
`config.json` sets `server.port` to 8080 and `server.host` to `"localhost"`.
    equals(server.port, 8080, path=config.json)
    equals(server.host, localhost, path=config.json)
The server listens on port 8080.
    equals(server.port, 8080, path=config.json)
`server.port` is 8080, and `server.host` is `localhost`.
    equals(server.port, 8080, path=config.json)
    equals(server.host, localhost, path=config.json)
The port in `config.json` is 8080.
    equals(server.port, 8080, path=config.json)
`debug` is `false` in `config.json`.
    equals(debug, false, path=config.json)
`debug` is disabled in `config.json`.
    equals(debug, false, path=config.json)
The process runs as uid 1000.
    peer(uid=1000)
The socket's peer runs as user `postgres`.
    peer(user=postgres)
`docker-compose.yml` pins `redis` to `redis:7.2`.
    equals(services.redis.image, "redis:7.2", path=docker-compose.yml)
`services.redis.image` in `docker-compose.yml` is `redis:7.2`.
    equals(services.redis.image, "redis:7.2", path=docker-compose.yml)
The function `parse_header_links` is in `utils.py`.
    defines(parse_header_links, function, path=src/requests/utils.py)
`parse_header_links()` (src/requests/utils.py) returns `links`.
    returns(parse_header_links, links, path=src/requests/utils.py)
`utils.py` has a function called `parse_header_links`.
    defines(parse_header_links, function, path=src/requests/utils.py)
`Foo.Bar` in `internal/foo.go` calls `fmt.Println`.
    calls(Foo.Bar, fmt.Println, path=internal/foo.go)
The method `Bar` on `Foo` calls `fmt.Println`.
    calls(Foo.Bar, fmt.Println, path=internal/foo.go)
`internal/foo.go` declares the constant `MaxSize`.
    defines(MaxSize, constant, path=internal/foo.go)
`MaxSize` equals 1 << 20.
    equals(MaxSize, 1048576, path=internal/foo.go)
`MaxSize` is 1_048_576.
    equals(MaxSize, 1048576, path=internal/foo.go)
`timeout` defaults to 30 seconds.
    equals(timeout, 30s, path=config.yaml)
`timeout` is `30s` in `config.yaml`.
    equals(timeout, 30s, path=config.yaml)
`config.yaml` has `timeout: 30s`.
    contains("timeout: 30s", path=config.yaml)
`config.yaml` contains `timeout: 30s`.
    contains("timeout: 30s", path=config.yaml)
`flask.Flask.run()` in `src/flask/app.py` calls `run_simple`.
    calls(Flask.run, run_simple, path=src/flask/app.py)
The `Flask` class defines a method named `dispatch_request`.
    defines(Flask.dispatch_request, method, path=src/flask/app.py)
`dispatch_request` is a method of `Flask`.
    defines(Flask.dispatch_request, method, path=src/flask/app.py)
`Flask.run` passes `threaded=True` by default.
    contains("options.setdefault(\"threaded\", True)", path=src/flask/app.py)
`full_dispatch_request()` calls `preprocess_request()`, and if that returns `None` it calls `dispatch_request()`.
    calls(full_dispatch_request, preprocess_request)
    calls(full_dispatch_request, dispatch_request)
`src/flask/globals.py` imports `LocalProxy` from `werkzeug.local`.
    imports(werkzeug.local, path=src/flask/globals.py)
`src/flask/globals.py` imports `werkzeug.local`.
    imports(werkzeug.local, path=src/flask/globals.py)
`app.py` imports `os`, `sys` and `weakref`.
    imports(os, path=src/flask/app.py)
    imports(sys, path=src/flask/app.py)
    imports(weakref, path=src/flask/app.py)
`SESSION_COOKIE_NAME` defaults to `"session"`.
    equals(SESSION_COOKIE_NAME, session, path=src/flask/app.py)
The default value of `SESSION_COOKIE_NAME` is `"session"`.
    equals(SESSION_COOKIE_NAME, session, path=src/flask/app.py)
`PERMANENT_SESSION_LIFETIME` is 31 days by default.
    equals(PERMANENT_SESSION_LIFETIME, "31 days", path=src/flask/app.py)
Line 1 of `src/flask/cli.py` is `from __future__ import annotations`.
    line(src/flask/cli.py, 1, "from __future__ import annotations")
`src/flask/cli.py:1` says `from __future__ import annotations`.
    line(src/flask/cli.py, 1, "from __future__ import annotations")
In src/flask/cli.py the function `locate_app` calls `find_best_app`.
    calls(locate_app, find_best_app, path=src/flask/cli.py)
locate_app() calls find_best_app()
    calls(locate_app, find_best_app, path=src/flask/cli.py)
`locate_app` (src/flask/cli.py:241) calls `find_best_app`.
    calls(locate_app, find_best_app, path=src/flask/cli.py)
`find_best_app` does not call `locate_app`.
    not calls(find_best_app, locate_app, path=src/flask/cli.py)
`find_best_app` raises `NoAppException`.
    uses(find_best_app, NoAppException, path=src/flask/cli.py)
`find_best_app` references `NoAppException`.
    uses(find_best_app, NoAppException, path=src/flask/cli.py)
`get_debug_flag` returns `bool(val and val.lower() not in {"0", "false", "no"})`.
    returns(get_debug_flag, "bool(val and val.lower() not in {\"0\", \"false\", \"no\"})", path=src/flask/helpers.py)
`pyproject.toml` requires Python 3.9 or newer.
    equals(project.requires-python, ">=3.9", path=pyproject.toml)
`requires-python` is `">=3.9"` in `pyproject.toml`.
    equals(project.requires-python, ">=3.9", path=pyproject.toml)
`project.name` in `pyproject.toml` is `Flask`.
    equals(project.name, Flask, path=pyproject.toml)
The project's name is `Flask`.
    equals(project.name, Flask, path=pyproject.toml)
`tool.mypy.strict` is `true`.
    equals(tool.mypy.strict, true, path=pyproject.toml)
mypy runs in strict mode.
    equals(tool.mypy.strict, true, path=pyproject.toml)
`strict = true` is set in `[tool.mypy]`.
    equals(tool.mypy.strict, true, path=pyproject.toml)
`tox.ini` has an `envlist` of 12 environments.
    defines(envlist, path=tox.ini)
There is no `setup.cfg` file.
    missing(setup.cfg)
The repository has no `setup.cfg`.
    missing(setup.cfg)
The file `CHANGES.rst` exists.
    exists(CHANGES.rst)
`CHANGES.rst` is present in the repository.
    exists(CHANGES.rst)
`README.md` links to `https://palletsprojects.com/donate`.
    contains("https://palletsprojects.com/donate", path=README.md)
README.md contains the string "Hello, World!".
    contains("Hello, World!", path=README.md)
The `README.md` has a "Donate" heading.
    defines(Donate, section, path=README.md)
The README has a section named `Donate`.
    defines(Donate, section, path=README.md)
README.md never mentions `Django`.
    absent(Django, path=README.md)
README.md doesn't mention `Django`.
    absent(Django, path=README.md)
`Django` is not mentioned in README.md.
    absent(Django, path=README.md)
No mention of `Django` in README.md.
    absent(Django, path=README.md)
`src/flask/app.py` contains no `eval` calls.
    absent(eval, path=src/flask/app.py)
`t.Any` occurs 45 times in `app.py`.
    count(t.Any, =, 45, path=src/flask/app.py)
`app.py` has more than 40 occurrences of `t.Any`.
    count(t.Any, >, 40, path=src/flask/app.py)
`app.py` uses `t.Any` 45 times.
    count(t.Any, =, 45, path=src/flask/app.py)
`def run` appears before `def test_client` in `app.py`.
    order("def run", "def test_client", path=src/flask/app.py)
`run()` is defined before `test_client()` in app.py.
    order("def run", "def test_client", path=src/flask/app.py)
Commit ab81496 was authored by David Lord.
    commit(ab81496, author="David Lord")
David Lord authored commit ab81496.
    commit(ab81496, author="David Lord")
Commit ab81496 is from 2024-11-13.
    commit(ab81496, date=2024-11-13)
Commit ab81496 ("release version 3.1.0") is dated 2024-11-13.
    commit(ab81496, date=2024-11-13, subject="release version 3.1.0")
Commit ab81496 modified `CHANGES.rst`.
    changed(CHANGES.rst, ab81496)
`CHANGES.rst` was changed in commit ab81496.
    changed(CHANGES.rst, ab81496)
`CHANGES.rst` was modified by ab81496.
    changed(CHANGES.rst, ab81496)
ab81496 introduced the string `3.1.0` in `pyproject.toml`.
    introduced("3.1.0", ab81496, path=pyproject.toml)
`pyproject.toml` was last changed on 13 November 2024.
    last_changed(pyproject.toml, =, 2024-11-13)
`pyproject.toml` hasn't changed since 2024-11-13.
    last_changed(pyproject.toml, <=, 2024-11-13)
The last commit that touched `pyproject.toml` is dated 2024-11-13.
    last_changed(pyproject.toml, =, 2024-11-13)
`app.log` was modified after 2024-11-13.
    modified(app.log, >, 2024-11-13)
The process on the other end runs as root.
    peer(user=root)
The peer is root.
    peer(user=root)
The peer's uid is 0.
    peer(uid=0)
The peer process has pid 4312.
    peer(pid=4312)
The channel `orders` has 12 subscribers.
    count(subscribers, =, 12)
`Config` in `internal/config/config.go` has a field `Timeout`.
    defines(Config.Timeout, path=internal/config/config.go)
`DefaultTimeout` is 30 seconds.
    equals(DefaultTimeout, 30s, path=internal/config/config.go)
`DefaultTimeout` is `30 * time.Second`.
    contains("DefaultTimeout = 30 * time.Second", path=internal/config/config.go)
`config.DefaultTimeout` equals `30`.
    equals(DefaultTimeout, 30, path=internal/config/config.go)
`Load` in `config.go` calls `os.ReadFile` and `yaml.Unmarshal`.
    calls(Load, os.ReadFile, path=internal/config/config.go)
    calls(Load, yaml.Unmarshal, path=internal/config/config.go)
`Load` calls `os.ReadFile` and then unmarshals the YAML.
    calls(Load, os.ReadFile, path=internal/config/config.go)
`Load` calls `Validate` but not `Save`.
    calls(Load, Validate)
    not calls(Load, Save)
Both `Load` and `Save` call `Validate`.
    calls(Load, Validate)
    calls(Save, Validate)
`Load` and `Save` both call `Validate`.
    calls(Load, Validate)
    calls(Save, Validate)
`package.json` sets the `test` script to `jest`.
    equals(scripts.test, jest, path=package.json)
`scripts.test` in `package.json` is `jest`.
    equals(scripts.test, jest, path=package.json)
The `test` script in `package.json` is `jest`.
    equals(scripts.test, jest, path=package.json)
The version in `package.json` is 4.18.2.
    equals(version, "4.18.2", path=package.json)
`express` is at version `4.18.2` in `package.json`.
    equals(dependencies.express, "4.18.2", path=package.json)
`dependencies.express` is `^4.18.2`.
    equals(dependencies.express, "^4.18.2", path=package.json)
`index.js` exports `createApplication`.
    contains("exports = module.exports = createApplication", path=lib/express.js)
`createApplication` is defined at `lib/express.js:37`.
    defines(createApplication, path=lib/express.js, lines=37)
`createApplication` is defined on line 37 of `lib/express.js`.
    defines(createApplication, path=lib/express.js, lines=37)
`MAX_RETRIES` is greater than 3.
    compare(MAX_RETRIES, >, 3)
`MAX_RETRIES` exceeds 3.
    compare(MAX_RETRIES, >, 3)
`MAX_RETRIES` is between 3 and 10.
    compare(MAX_RETRIES, >=, 3)
    compare(MAX_RETRIES, <=, 10)
`MAX_RETRIES` isn't 3.
    not equals(MAX_RETRIES, 3)
`docker-compose.yml` exposes port 9092.
    contains("9092:9092", path=docker-compose.yml)
The Makefile target `lint` uses `ruff check`.
    contains("ruff check", path=Makefile, in=lint)
The `lint` target contains `ruff check`.
    contains("ruff check", path=Makefile, in=lint)
"""
"""Each sentence on a line, its checks indented below it."""


def pairs() -> list[tuple[str, list[Check | Unknown]]]:
    """Each sentence with its checks."""
    found: list[tuple[str, list[Check | Unknown]]] = []
    for line in SENTENCES.strip().splitlines():
        if line.startswith(" "):
            found[-1][1].append(parse_check(line.strip()))
        else:
            found.append((line, []))
    return found


def test_every_check_of_the_sentences_is_well_formed():
    """A check that nobody can read would make its sentence one that is never covered."""
    assert [check for _, checks in pairs() for check in checks if isinstance(check, Unknown)] == []


def test_at_least_half_of_what_agents_write_is_wholly_covered():
    """The goal of docs/checks.md with checks attached is half; these reach seven in ten, and fall no lower."""
    levels = [cover(sentence, checks).level for sentence, checks in pairs()]
    assert levels.count("whole") >= 0.7 * len(levels)
    assert levels.count("none") <= 0.05 * len(levels)
