"""Search by words: inflected, accented, disguised; bounded in time, and never an expression of the asker's."""

import sqlite3

import msgspec
import pytest
from adapter_view import DOMAIN, NOW, attested, claim
from hypothesis import given, settings
from hypothesis import strategies as st

from sluice.topology.http import kept_view, tool_answers
from sluice.topology.http.adapter_view import TOKENIZER


def ground(db, query):
    return msgspec.to_builtins(tool_answers.ground(db, query, DOMAIN, 10, None, NOW))


def check(db, text):
    return msgspec.to_builtins(tool_answers.check(db, text, "assertion", 10, None, NOW))


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("The studies were repeated.", "study"),
        ("A study was made.", "studies"),
        ("Vaccinated children", "vaccination"),
        ("Released yesterday", "releasing"),
        ("La décision a été publiée à Orléans.", "decision orleans"),
        ("decision in Orleans", "Décision Orléans"),
        ("Die Änderungen stehen im Protokoll.", "anderung"),
        ("Die Studie wurde wiederholt.", "Studien"),
        ("Los científicos publicaron", "cientifica"),
        ("ＦＵＬＬ width", "full"),
        ("p\u0430yment made", "payment"),
        ("The pay\u200bment", "payment"),
        ("paуment", "p\u0430yment"),
        ("Запись в журнале", "журнал"),
        ("release-notes.md was read", "release-notes.md"),
        ("co2 levels", "CO₂"),
    ],
)
def test_inflected_and_accented_words_are_found(filled, db, text, query):
    """And what only looks different."""
    filled.put("grounded", attested(text), attested("Something else entirely.", about="other", by="two"))
    filled.admit(text)

    found = ground(db, query)["attestations"]

    assert [one["claim_hash"] for one in found] == [claim("claim")]
    near, same = check(db, query)["near_matches"], check(db, query)["matches"]
    assert len(near) + len(same) == 1


QUERIES = [
    *('"', '""', '" OR words : "', "'", "NEAR(a b)", "a AND", "NOT", "* *", "words:entry", "^entry", "a*", "(", ")"),
    *("{a b}:c", "--", "+", ",", "-entry", "💥", "; DROP TABLE attestations", '"entry" OR "x', "entry NOT entry"),
]
UNSEEN = ["\x00", "a\x00b", "entry\x00", "\u202e", "\u202eentry", "\u0301", "\ud7ff", "a" * 5000, "a " * 3000]


@pytest.mark.parametrize("query", QUERIES + UNSEEN)
def test_no_query_is_taken_for_an_expression(filled, db, query):
    """Nothing in it is an operator, and none is an error."""
    filled.put("grounded", attested("An entry."))

    answer = ground(db, query)
    check(db, query)

    assert len(answer["attestations"]) in (0, 1)


@settings(deadline=None)
@given(st.text(st.characters(codec="utf-8"), max_size=80))
def test_words_are_always_a_valid_expression(text):
    """Whatever is asked: FTS5 reads each word as a string."""
    db = sqlite3.connect(":memory:")
    db.execute(f"CREATE VIRTUAL TABLE w USING fts5(words, content='', tokenize='{TOKENIZER}')")
    db.execute("INSERT INTO w (rowid, words) VALUES (1, 'an entry')")

    assert set(kept_view.find_rows(db, "w", text, 5)) <= {1}
    db.close()


def test_the_better_match_comes_first(filled, db):
    """All words before some of them; a rare word before a common one."""
    filled.put("grounded", attested("The glacier melts.", about="a"))
    filled.put("grounded", attested("The glacier melts in summer.", about="b", by="two"))
    filled.put("grounded", attested("Nothing of it.", about="c", by="three"))

    found = [one["claim_hash"] for one in ground(db, "glacier summer")["attestations"]]

    assert found == [claim("b"), claim("a")]


def test_common_words_alone_find_the_newest(filled, db, monkeypatch):
    """They say too little to be weighed, and are found all the same; a rare word beside them decides."""
    monkeypatch.setattr(kept_view, "COMMON", 3)
    for number in range(6):
        filled.put("grounded", attested(f"The entry {'glacier' if number == 2 else ''}.", about=f"c{number}"))

    assert ground(db, "entry")["claims"][0]["claim_hash"] == claim("c5")
    assert ground(db, "entry glacier")["claims"][0]["claim_hash"] == claim("c2")
    assert ground(db, "entry unheardof glacier")["claims"][0]["claim_hash"] == claim("c2")
    assert ground(db, "entry glaciers")["claims"][0]["claim_hash"] == claim("c2")
    assert ground(db, "entry unheardof")["claims"] == []
