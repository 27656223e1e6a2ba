"""Build sdist and wheel, check their contents, and try each extra: `python tests/distributions.py [EXTRA ...]`.

Every extra is installed alone ("core": none), from the wheel, in a new environment outside the clone. A command there
works, or exits with 2 and one line that names the extra to install. `make dist` runs it.
"""

import json
import os
import re
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Timer

ROOT = Path(__file__).parent.parent
EXTRAS = ("core", "hub", "endpoint", "review", "report", "lab", "dicom")
COMMANDS = {
    "demo bench --cases 40 --verdicts": (),
    "check bench": (),
    "judge bench bench/runs --judge longer random": (),
    "analyze bench --table agreement": ("krippendorff",),
    "analyze bench --table accuracy --latex": (),
    "export table bench - copied": (),
    "judges --domain medical --fits": (),
    "doctor": (),
    "demo work --construct --cases 40": ("sqlalchemy",),
    "construct release work released --version 1.0.0": ("sqlalchemy", "huggingface_hub"),
    "pull published": ("huggingface_hub",),
    "judge bench bench/runs --judge endpoint:m --url http://127.0.0.1:9/v1 --max-wait 1": ("httpx",),
    "report bench --out site --only 00_start": ("papermill", "matplotlib", "seaborn"),
    "review bench --no-browser": ("sqlalchemy", "tornado"),
    "annotate bench --annotators A,B --no-browser": ("sqlalchemy", "tornado"),
    "lab bench --no-browser": ("jupyterlab",),
    "demo small --cases 26 --judges small-judges": ("torch", "transformers"),
    "train bench tuned --model path:small-judges/random-llava": ("trl", "peft"),
}
"""The commands to try, each with the packages without which it asks for an extra."""

SERVES, LONGEST_S = ("review", "annotate", "lab"), 600.0
PROBE = """
import json, time; began = time.perf_counter()
import mrb_lib; light = time.perf_counter() - began
import mrb_lib.stats.analyze; took = time.perf_counter() - began
from importlib.util import find_spec
print(json.dumps({"import mrb_lib": light, "import analysis": took, "has": [n for n in %r if find_spec(n)]}))
"""


def check_contents(sdist: Path, wheel: Path) -> None:
    """Raise `SystemExit` where a file that git tracks, or a notebook, is left out."""
    listing = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    with tarfile.open(sdist) as packed_source, zipfile.ZipFile(wheel) as packed_library:
        packed = {name.partition("/")[2] for name in packed_source.getnames()}
        installed = set(packed_library.namelist())
    wanted = {name for name in listing.splitlines() if not name.startswith(".ci/")}
    library = {f"mrb_lib/{name}" if name.startswith("notebooks/") else name for name in wanted}
    left_out = wanted - packed | {name for name in library if name.startswith("mrb_lib/")} - installed
    if left_out:
        sys.exit(f"left out of the sdist or the wheel: {', '.join(sorted(left_out))}")


def try_extra(wheel: Path, extra: str, folder: Path) -> bool:
    """Install one extra by itself, run every command, print the outcomes, and return whether all are right."""
    venv.create(folder / "venv", with_pip=True)
    python = folder / "venv" / "bin" / "python"
    what = f"{wheel}[{extra}]" if extra != "core" else str(wheel)
    pip = [python, "-m", "pip", "install", "--quiet", "--no-compile", "--constraint", ROOT / "constraints.txt", what]
    subprocess.run(pip, cwd=folder, check=True)
    environment = {name: text for name, text in os.environ.items() if not name.startswith("PYTHON")}
    environment |= {"MRB_HOME": str(folder / "home"), "HF_HUB_OFFLINE": "1", "HF_HOME": str(folder / "hub")}
    packages = sorted({package for needs in COMMANDS.values() for package in needs})
    probe = [python, "-c", PROBE % packages]
    subprocess.run(probe, cwd=folder, env=environment, capture_output=True, check=True)  # compiles what it imports
    found = json.loads(subprocess.run(probe, cwd=folder, env=environment, capture_output=True, check=True).stdout)
    size = sum(path.stat().st_size for path in folder.glob("venv/**/*") if path.is_file() and not path.is_symlink())
    times = ", ".join(f"{name} {found[name]:.2f} s" for name in ("import mrb_lib", "import analysis"))
    print(f"\n{extra}: {size / 1e6:.0f} MB, {times}", flush=True)
    well = True
    for command, needs in COMMANDS.items():
        code, printed = run([python, "-m", "mrb_lib.cli.main", *command.split()], folder, environment)
        last = printed.strip().rpartition("\n")[2]
        asks = code == 2 and last.startswith("mrb: ") and "pip install" in last
        failed = code != 0 if command.split()[0] in SERVES else code < 0
        broken = asks or failed or re.search("Traceback|Usage:", printed) is not None
        is_right = asks if set(needs) - set(found["has"]) else not broken
        well &= is_right
        print(f"  {'ok   ' if is_right else 'WRONG'} mrb {command}: {last[-90:] if asks else f'exit {code}'}")
        if not is_right:
            print(printed[-2000:])
    return well


def run(line: list[str | Path], folder: Path, environment: dict[str, str]) -> tuple[int, str]:
    """Run a command, a server until it prints its address; return the exit code and all that was printed."""
    process = subprocess.Popen(
        line, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    timer = Timer(LONGEST_S, process.kill)
    timer.start()
    printed = ""
    assert process.stdout is not None
    for text in process.stdout:
        printed += text
        if line[3] in SERVES and "http://127.0.0.1" in text:
            process.terminate()
            process.wait()
            timer.cancel()
            return 0, printed
    timer.cancel()
    return process.wait() or (1 if line[3] in SERVES else 0), printed


def main(extras: list[str]) -> None:
    """Build, check, and try the extras."""
    for old in ROOT.glob("dist/mrb_workbench-*"):
        old.unlink()
    subprocess.run([sys.executable, "-m", "build", "--outdir", "dist"], cwd=ROOT, check=True)
    [sdist], [wheel] = ROOT.glob("dist/*.tar.gz"), ROOT.glob("dist/*.whl")
    subprocess.run([sys.executable, "-m", "twine", "check", "--strict", sdist, wheel], check=True)
    check_contents(sdist, wheel)
    well = True
    for extra in extras:
        with TemporaryDirectory() as folder:
            well &= try_extra(wheel, extra, Path(folder))
    if not well:
        sys.exit("some commands neither worked nor named the extra that they need.")


if __name__ == "__main__":
    main(sys.argv[1:] or list(EXTRAS))
