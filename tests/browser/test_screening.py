"""A clinician screens items by mouse, touch and keys, and the coordinator sees it."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pandas as pd
import pytest
from playwright.sync_api import Page, Response, expect

from mrb_lib.build.construct.screen import CRITERIA
from mrb_lib.build.construct.work import Work
from mrb_lib.review.records.store import open_store

from .axe import violations
from .hand import WAYS, Hand
from .pages import at_case, press, told
from .server import Served, mrb, screening, simulated


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Work:
    """Two items with an image each, dealt out to two clinicians."""
    root = tmp_path_factory.mktemp("screening")
    demo = simulated(root, 2, seed=7)
    pictures = {f"secret-{i}.png": demo.images[images[0]] for i, images in enumerate(demo.cases["images"])}
    items = pd.DataFrame({"item_id": ["secret-1", "secret-2"], "images": [[name] for name in pictures]})
    items = items.assign(question=demo.cases["question"], reference="A nodule of 8 mm.")
    return screening(root, items, "Dr One", "Dr Two", pictures=pictures)


@pytest.fixture(scope="module")
def url(work: Work) -> Iterator[str]:
    with Served("construct", Path("screen"), str(work.path)) as served:
        yield served.address


def _rate(hand: Hand, row: int, rating: int) -> None:
    criterion = hand.page.locator(".mrb-row").nth(row)
    hand.use(criterion.locator(".mrb-pick").nth(rating - 1), str(rating))
    words = f"Saved: {criterion.locator('.mrb-name').inner_text()}, {rating}"
    told(hand.page, words)


def test_items_are_screened_by_mouse_touch_and_keys_and_the_screening_is_closed(
    new_page: Callable[..., Page], url: str, work: Work
) -> None:
    page = new_page(has_touch=True)
    mouse, touch, keys = (Hand(page, way) for way in WAYS)
    messages: list[Response] = []
    page.on("response", lambda one: messages.append(one) if re.search(r"/api/(?!image)", one.url) else None)
    page.goto(url)
    expect(page.get_by_role("heading", name="Screening")).to_be_visible()
    press(page, ("Tab", "Enter"))
    at_case(page, 1)
    expect(page.get_by_text("Screening as Dr One")).to_be_visible()
    assert violations(page) == []
    told_to_page = [one.text() for one in messages]
    assert len(told_to_page) > 1
    assert not re.findall(r"secret-\w+", page.content() + "".join(told_to_page))
    expect(page.get_by_role("heading", name="1 is lowest, 5 highest")).to_be_visible()
    for row, (hand, rating) in enumerate(zip((mouse, touch, keys, mouse), (4, 2, 3, 5), strict=True)):
        _rate(hand, row, rating)
    page.keyboard.press("Shift+Tab")  # from the button on: back among the ratings, to correct one
    for _ in range(8):
        if page.evaluate("document.activeElement.name?.endsWith('-1')"):
            break
        page.keyboard.press("Shift+Tab")
    for hand, rating in ((keys, 5), (mouse, 4), (touch, 3)):
        _rate(hand, 1, rating)
    page.keyboard.press("?")
    expect(page.get_by_text("The reference answer is right")).to_be_visible()
    mouse.use(page.get_by_role("button", name="Next case"))
    at_case(page, 2)
    for row, hand in enumerate((keys, mouse, touch, keys)):
        _rate(hand, row, 1)
    expect(page.get_by_role("button", name="Finish")).to_be_focused()
    touch.use(page.get_by_role("button", name="Finish"))
    expect(page.get_by_role("heading", name="That was all")).to_be_visible()

    with open_store(work.path / "reviews.sqlite", create=False) as store:
        found = store.answers("mine (screening)", annotator="Dr One")
    ratings = {str(case): rows["choice"].tolist() for case, rows in found.groupby("case_id")}
    first, second = sorted(ratings.values(), reverse=True)
    assert sorted(first) == ["3", "3", "4", "5"]
    assert second == ["1"] * len(CRITERIA)
    with Served("construct", Path("screen"), str(work.path), "--coordinator") as coordinator:
        page.goto(coordinator.address)
        expect(page.get_by_text("Readings finished: 2 of 4")).to_be_visible()
        expect(page.get_by_role("table", name="agreement on each dimension")).to_contain_text("image_quality")
        assert violations(page) == []
    closed = mrb(work.path, "construct", "screen", work.path, "--close")
    assert closed.startswith("kept 1 item of 2 (SIMULATED data)")
