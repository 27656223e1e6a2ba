"""A hand on a page: the same actions by mouse, by touch, or by keys alone."""

from dataclasses import dataclass

from playwright.sync_api import Locator, Page, expect

WAYS = ("mouse", "touch", "keys")


@dataclass(frozen=True)
class Hand:
    """Somebody who uses a page in one of `WAYS`; for touch the page's context must have it."""

    page: Page
    way: str

    @property
    def name(self) -> str:
        """Who signs in: each way stores its own answers."""
        return f"Dr {self.way.title()}"

    def use(self, target: Locator, *keys: str) -> None:
        """Click or tap the target; by keys press these, or Space on the target where none are given."""
        expect(self.page.locator(".mrb-changing")).to_have_count(0)
        if self.way == "mouse":
            target.click()
        elif self.way == "touch":
            target.tap()
        elif not keys:
            target.press("Space")
        else:
            for key in keys:
                self.page.keyboard.press(key)

    def write(self, field: Locator, words: str, *keys: str) -> None:
        """Go to a field, by keys with these where there are any, and replace its text."""
        if self.way == "keys" and not keys:
            field.focus()
        else:
            self.use(field, *keys)
        self.page.keyboard.press("ControlOrMeta+a")
        self.page.keyboard.type(words)

    def choose(self, select: Locator, value: str) -> None:
        """Choose an option: by keys with its first letters, else as the browser's own list reports it."""
        if self.way == "keys":
            words = select.locator(f"option[value='{value}']").text_content() or ""
            select.focus()
            self.page.keyboard.type(words.split(" (")[0])
        else:
            select.select_option(value)
        expect(select).to_have_value(value)

    def drag(self, start: tuple[float, float], end: tuple[float, float], *keys: str) -> None:
        """Press at one place of the screen and let go at another; by keys press these."""
        if self.way == "keys":
            for key in keys:
                self.page.keyboard.press(key)
        elif self.way == "touch":
            session = self.page.context.new_cdp_session(self.page)
            rest = [("touchMove", (end[0] + step % 2, end[1])) for step in range(9)]  # a fling would eat the next tap
            for kind, at in [("touchStart", start), *rest, ("touchEnd", None)]:
                points = [] if at is None else [{"x": at[0], "y": at[1]}]
                session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
        else:
            self.page.mouse.move(*start)
            self.page.mouse.down()
            self.page.mouse.move(*end)
            self.page.mouse.up()
