"""The moving picture of the playground in use, recorded frame by frame in headless Chromium.

python scripts/playground_video.py docs/playground/live.html docs/assets/playground.webp
"""

import io
import shutil
import sys
from pathlib import Path
from typing import Any

from PIL import Image, ImageDraw
from playwright.sync_api import sync_playwright

FLAGS = ["--no-sandbox", "--disable-gpu", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
SIZE = (1040, 660)
SHOWN = (720, 457)
CLICKS = ((0.12, 0.56), (0.50, 0.42))  # where the hand clicks, in shares of the picture
FRAMES = 18  # per walk
SECONDS = 16.5
MILLISECONDS = 90
ARROW = [(0, 0), (0, 17), (4, 13), (8, 20), (11, 19), (7, 12), (13, 12)]


class Video:
    """Pictures of a page, with a hand's arrow drawn onto them."""

    def __init__(self, page: Any) -> None:
        self.page, self.hand = page, (0.5, 0.8)
        self.pictures: list[Image.Image] = []

    def shoot(self, times: int = 1) -> None:
        """One more picture, shown for some time."""
        self.page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        picture = Image.open(io.BytesIO(self.page.screenshot())).convert("RGB").resize(SHOWN, Image.Resampling.LANCZOS)
        x, y = (round(share * side) for share, side in zip(self.hand, SHOWN, strict=True))
        ImageDraw.Draw(picture).polygon([(x + dx, y + dy) for dx, dy in ARROW], "white", "black")
        self.pictures += [picture] * times

    def move_to(self, place: tuple[float, float], steps: int = 4) -> None:
        """The hand goes somewhere."""
        start = self.hand
        for step in range(1, steps + 1):
            share = step / steps
            self.hand = (start[0] + share * (place[0] - start[0]), start[1] + share * (place[1] - start[1]))
            self.shoot()

    def click(self, place: tuple[float, float]) -> None:
        """The hand clicks, and waits until the mutations were tried."""
        self.move_to(place)
        tried = "window.playground.state.tab.next"
        before = self.page.evaluate(tried)
        self.page.mouse.click(*(share * side for share, side in zip(place, SIZE, strict=True)))
        done = f"{tried} > {before} && window.playground.state.tab.batch?.numbers.includes({before})"
        while not self.page.evaluate(done):
            self.page.wait_for_timeout(100)

    def walk(self) -> None:
        """Those on stage walk from the start to the end."""
        for frame in range(FRAMES + 1):
            time = SECONDS * frame / FRAMES
            self.page.evaluate(
                f"(({{ state }}) => {{ Object.assign(state, {{ playing: false, time: {time}, dirty: true }}); }})"
                "(window.playground)"
            )
            self.shoot()

    def save(self, output: Path) -> None:
        """As an animated picture."""
        first, *others = self.pictures
        first.save(output, save_all=True, append_images=others, duration=MILLISECONDS, loop=0, quality=60, method=6)


def main(source: str, output: str) -> None:
    """Open the ant's tab, click twice, then let all forty walk."""
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        page = browser.new_page(viewport={"width": SIZE[0], "height": SIZE[1]})
        page.goto(Path(source).absolute().as_uri())
        page.click("#tabs button:nth-child(2)")
        while not page.evaluate("window.playground.state.tab?.ready && window.playground.state.tab.title === 'Ant'"):
            page.wait_for_timeout(100)
        video = Video(page)
        video.shoot(4)
        for place in CLICKS:
            video.click(place)
            video.walk()
        page.check("#all")
        video.walk()
        video.shoot(10)
        video.save(Path(output))
        browser.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
