"""Text burnt into a picture is suspected, and anatomy is not."""

import io

from PIL import Image, ImageDraw, ImageFont

from mrb_lib.build.construct.intake.lettering import looks_lettered
from mrb_lib.demo.build import simulate_case

N = 24
MARK = (0, 0, 256, 240)  # without the line below it, which says SIMULATED


def test_lines_of_text_are_suspected_and_anatomy_is_not() -> None:
    plain = [Image.open(io.BytesIO(simulate_case(0, i).picture)).convert("L").crop(MARK) for i in range(N)]
    assert sum(map(looks_lettered, plain)) <= 1
    for size, fill in ((10, 255), (16, 230), (24, 255)):
        found = 0
        for i, picture in enumerate(plain):
            lettered = picture.copy()
            font = ImageFont.load_default(size)
            ImageDraw.Draw(lettered).text((8, 10 + 8 * i), "DOE JANE 1965-02-11", fill=fill, font=font)
            found += looks_lettered(lettered)
        assert found >= 0.8 * N, size
