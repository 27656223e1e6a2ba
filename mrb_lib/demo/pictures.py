"""From a scene to the bytes of its picture."""

from collections.abc import Callable

import numpy as np

from mrb_lib.demo import photographs, radiographs, sections, ultrasound
from mrb_lib.demo.canvas import FIELD, WIDTH, Canvas, Raster
from mrb_lib.demo.scenes import Facts, Scene, Spot

Stage = Callable[[Canvas], None]

# Anatomy is drawn first, then the findings, then what the imaging lays over both.
DRAWINGS: dict[str, tuple[Stage, Stage]] = {
    "chest_radiograph": (radiographs.chest, radiographs.finish_radiograph),
    "mammogram": (radiographs.mammogram, radiographs.finish_radiograph),
    "foot_radiograph": (radiographs.foot, radiographs.finish_radiograph),
    "knee_radiograph": (radiographs.knee, radiographs.finish_radiograph),
    "hand_radiograph": (radiographs.hand, radiographs.finish_radiograph),
    "panoramic_radiograph": (radiographs.panoramic, radiographs.finish_radiograph),
    "brain_mri": (sections.brain_mri, sections.finish_section),
    "brain_ct": (sections.brain_ct, sections.finish_section),
    "lung_ct": (sections.lung_ct, sections.finish_section),
    "abdomen_ct": (sections.abdomen_ct, sections.finish_section),
    "pelvis_mri": (sections.pelvis_mri, sections.finish_section),
    "cardiac_mri": (sections.cardiac_mri, sections.finish_section),
    "echocardiogram": (ultrasound.echo, ultrasound.finish_echo),
    "abdomen_ultrasound": (ultrasound.liver, ultrasound.finish_sector),
    "pelvis_ultrasound": (ultrasound.uterus, ultrasound.finish_sector),
    "breast_ultrasound": (ultrasound.breast, ultrasound.finish_linear),
    "retinal_oct": (ultrasound.retina, ultrasound.finish_oct),
    "fundus": (photographs.fundus, photographs.finish_fundus),
    "stomach_endoscopy": (photographs.stomach, photographs.finish_endoscopy),
    "colonoscopy": (photographs.colon, photographs.finish_endoscopy),
    "oral_photograph": (photographs.mouth, photographs.finish_photograph),
}


def draw_picture(scene: Scene, rng: np.random.Generator) -> bytes:
    """The picture of a scene, 256 x 256 pixels, as a PNG file (grey, or RGB for colour views)."""
    view = scene.view
    anatomy, finish = DRAWINGS[view.name]
    canvas = Canvas(rng, scene.frame, colour=view.colour)
    anatomy(canvas)
    for facts in (scene.main, scene.second):
        if facts is not None:
            for spot in facts.spots:
                _lesion(canvas, facts, spot)
    finish(canvas)
    return canvas.png(bar=view.bar, step=10 if view.colour else 8)


def lesion_outline(shape: str, angle: Raster, phase: tuple[float, float, float]) -> Raster:
    """The relative radius of a lesion in each direction; its longest is 1.

    Parameters
    ----------
    angle : directions in radians, any array shape
    phase : three angles that settle orientation and outline
    """
    turned = angle + np.float32(phase[0])
    if shape == "oval":
        return np.asarray(0.55 / np.sqrt((0.55 * np.cos(turned)) ** 2 + np.sin(turned) ** 2), dtype=np.float32)
    if shape == "lobulated":
        return np.asarray(0.74 + 0.26 * np.abs(np.cos(2.5 * turned)), dtype=np.float32)
    if shape == "irregular":
        wave = 0.2 * np.cos(2 * turned) + 0.15 * np.cos(3 * angle + phase[1]) + 0.1 * np.cos(5 * angle + phase[2])
        return np.asarray((1 + wave) / 1.3, dtype=np.float32)
    if shape == "spiculated":
        return np.asarray(0.6 + 0.4 * np.abs(np.cos(5.5 * turned)) ** 5, dtype=np.float32)
    return np.ones_like(turned)


def _lesion(canvas: Canvas, facts: Facts, spot: Spot) -> None:
    """Draw one lesion brighter or darker than what lies around it, by at least the contrast asked for."""
    reach = spot.radius + 5
    x0, x1 = max(0, int(spot.x - reach)), min(WIDTH, int(spot.x + reach) + 2)
    y0, y1 = max(0, int(spot.y - reach)), min(FIELD, int(spot.y + reach) + 2)
    dx = np.arange(x0, x1, dtype=np.float32)[None, :] - np.float32(spot.x)
    dy = np.arange(y0, y1, dtype=np.float32)[:, None] - np.float32(spot.y)
    distance = np.hypot(dx, dy)
    edge = spot.radius * lesion_outline(facts.shape, np.arctan2(dy, dx), spot.phase)
    mask = np.clip(0.5 + (edge - distance) / 2.0, 0, 1)
    region = canvas.pixels[y0:y1, x0:x1]
    if canvas.colour and facts.kind.tint is not None:
        halo = np.clip(1 - np.abs(distance - edge) / 4, 0, 1)
        canvas.blend(halo, x0, y0, (120, 30, 28), amount=0.35)
        light = 1 - np.float32(-0.06 if facts.kind.bright else 0.16) * (dx + dy) / np.float32(spot.radius)
        canvas.blend(mask, x0, y0, light[..., None] * np.asarray(facts.kind.tint, dtype=np.float32), amount=0.92)
        return
    around = float(region[distance < spot.radius + 2].mean())
    sign = 1 if facts.kind.bright else -1
    value = float(np.clip(around + sign * facts.contrast, 6, 250))
    canvas.blend(mask, x0, y0, value + np.float32(0.12) * (region - around), amount=0.97)
