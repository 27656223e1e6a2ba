"""A store of reviews as version 4 of its schema made it, by raw SQL."""

from pathlib import Path

import sqlalchemy as sa

from mrb_lib.review.records.store import database_url

HOSTILE = "'; DROP TABLE mrb_tags; -- <b>\u202e\N{STETHOSCOPE}"
WHEN = "2026-01-01T12:00:00.000Z"
TABLES = {
    "meta": "key TEXT PRIMARY KEY, value TEXT",
    "adjudications": "id INTEGER PRIMARY KEY, adjudication_id TEXT UNIQUE, benchmark TEXT, case_fingerprint TEXT, "
    "case_id TEXT, dimension TEXT, reviewer TEXT, verdict TEXT, choice TEXT, judge TEXT, reasons TEXT, severity TEXT, "
    "reasoning TEXT, regions TEXT, note TEXT, supersedes TEXT, created TEXT",
    "reason_lists": "id INTEGER PRIMARY KEY, names TEXT, created TEXT",
    "assignments": "key TEXT PRIMARY KEY, benchmark TEXT, case_id TEXT, task TEXT, annotator TEXT, "
    'position INTEGER, "order" TEXT, created TEXT',
    "answers": "id INTEGER PRIMARY KEY, answer_id TEXT UNIQUE, benchmark TEXT, case_id TEXT, annotator TEXT, "
    'dimension TEXT, choice TEXT, "order" TEXT, skipped_reason TEXT, seconds FLOAT, created TEXT',
    "comments": "id INTEGER PRIMARY KEY, comment_id TEXT UNIQUE, benchmark TEXT, case_id TEXT, annotator TEXT, "
    "text TEXT, created TEXT",
    "views": "id INTEGER PRIMARY KEY, benchmark TEXT, name TEXT, fragment TEXT, reviewer TEXT, created TEXT",
    "tags": "id INTEGER PRIMARY KEY, tag_id TEXT UNIQUE, benchmark TEXT, case_id TEXT, tag TEXT, reviewer TEXT, "
    "action TEXT, created TEXT",
}
"""The tables of version 4, as it made them but for indices."""
REGION = '[{"image": "a.png", "x": 1.0, "y": 2.0, "width": 0.0, "height": 0.0, "frame": 3}]'
ROWS = [
    ("meta", "schema", "4"),
    # The second was stored first.
    ("adjudications", 2, "b", "demo", "f", "c1", "overall", "Dr B", "gold_wrong", "tie", "j", '["other", "+1"]',
     "severe", "not_about_image", REGION, HOSTILE, None, WHEN),
    ("adjudications", 1, "a", "demo", "", "c1", None, "Dr B", "ambiguous", None, None, "[]", None, None, "[]", "",
     None, WHEN),
    ("adjudications", 3, "c", "demo", "", "c1", None, "Dr B", "withdrawn", None, None, "[]", None, None, "[]", "",
     "a", WHEN),
    ("reason_lists", 1, '["first"]', WHEN),
    ("reason_lists", 2, '["artefact", "other"]', WHEN),
    ("assignments", "k", "demo", "c1", "review", "Dr B", 4, "AB", WHEN),
    ("answers", 1, "x", "demo", "c1", "r1", "overall", "A", "BA", "", 12.345678901234567, WHEN),
    ("answers", 2, "y", "demo", "c1", "r1", "overall", None, "BA", "blurred", None, WHEN),
    ("comments", 1, "z", "demo", "c1", "r1", HOSTILE, WHEN),
    ("views", 1, "demo", "eyes", "organ=eye", "Dr A", WHEN),
    ("views", 2, "demo", "gone", "organ=eye", "Dr A", WHEN),
    ("views", 3, "demo", "gone", None, "Dr A", WHEN),
    ("tags", 1, "a", "demo", "c1", "old film", "Dr A", "added", WHEN),
]  # fmt: skip


def write_version_4(where: str | Path, benchmark: str = "demo") -> None:
    """Make the store, with every kind of row; what is about the benchmark "demo" is about this one."""
    engine = sa.create_engine(database_url(where), poolclass=sa.NullPool)
    with engine.begin() as connection:
        for name, columns in TABLES.items():
            connection.execute(sa.text(f"CREATE TABLE mrb_{name} ({columns})"))
        for name, *values in ROWS:
            given = {f"v{i}": benchmark if value == "demo" else value for i, value in enumerate(values)}
            places = ", ".join(f":{place}" for place in given)
            connection.execute(sa.text(f"INSERT INTO mrb_{name} VALUES ({places})"), given)  # noqa: S608  # of ours
        if engine.dialect.name == "sqlite":
            for name in TABLES.keys() - {"meta"}:
                guard = f"CREATE TRIGGER {name}_kept BEFORE DELETE ON mrb_{name} BEGIN SELECT RAISE(ABORT, 'kept'); END"
                connection.exec_driver_sql(guard)
