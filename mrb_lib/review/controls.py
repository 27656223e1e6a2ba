"""Controls of a notebook: what a cell shows is drawn again for each choice; only where ipywidgets are installed."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import anywidget
import ipywidgets
from IPython.display import clear_output, display

from mrb_lib.review.pages import visible
from mrb_lib.tables.errors import InputError

_ALL: Final = {"dimension": "all dimensions", "by": "all cases"}
_EXAMPLE: Final = "organ == 'eye' and n_images > 1"


class _OwnKeys(anywidget.AnyWidget):
    """Keeps JupyterLab's shortcuts off the controls: an A pressed on a list of ipywidgets would insert a cell."""

    _esm = """
    export default { render() {
      const mark = ({ target }) =>
        target.closest?.(".mrb-controls") && target.setAttribute("data-lm-suppress-shortcuts", "true");
      document.addEventListener("focusin", mark, true);
      return () => document.removeEventListener("focusin", mark, true);
    } };
    """


def redrawn(draw: Callable[..., object], offered: Mapping[str, tuple[Sequence[str], str]]) -> ipywidgets.VBox:
    """Show what `draw` returns below a control per parameter, and draw it again at each change.

    Parameters
    ----------
    draw : called with the chosen values by keyword; an `InputError` is shown as a line in its place
    offered : by parameter, the values to choose from ("" for all; none at all for a text field), and the first one

    Notes
    -----
    Validated by tests/report/test_controls.py and tests/browser/test_lab.py.
    """

    controls: dict[str, Any] = {}
    for name, (values, value) in offered.items():
        if values:  # a control whose value is None would show nothing as chosen
            options = [(visible(each) or _ALL.get(name, "all"), each) for each in values]
            controls[name] = ipywidgets.Dropdown(options=options, value=value, description=name)
        else:  # it asks when Enter is pressed or the field is left
            text = {"value": value, "placeholder": _EXAMPLE, "continuous_update": False}
            controls[name] = ipywidgets.Text(description=name, layout=ipywidgets.Layout(width="600px"), **text)
    drawn = ipywidgets.Output()

    # Not `ipywidgets.interactive_output`: it loads pyplot's backend, which then draws every figure without its mark.
    def redraw(_change: object = None) -> None:
        with drawn:
            clear_output(wait=True)  # type: ignore[no-untyped-call]  # IPython has no types for it
            try:
                display(draw(**{name: control.value for name, control in controls.items()}))  # type: ignore[no-untyped-call]
            except InputError as error:
                print(error)

    for control in controls.values():
        control.observe(redraw, "value")
    redraw()
    row = ipywidgets.HBox([*controls.values(), _OwnKeys()], layout=ipywidgets.Layout(flex_flow="row wrap"))
    return ipywidgets.VBox([row, drawn]).add_class("mrb-controls")
