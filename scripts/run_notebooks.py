"""Run the notebooks and keep what they print and draw. Jupyter is not needed.

    python scripts/run_notebooks.py

Every code cell is executed in order. Its printed text and its Matplotlib figures become its outputs, so that a notebook
opens with pictures in it. The last line of a cell is shown only if it is printed.
"""

import base64
import contextlib
import io
import json
import tempfile
from pathlib import Path
from typing import Any

import matplotlib as mpl

NOTEBOOKS = sorted((Path(__file__).parents[1] / "notebooks").glob("*.ipynb"))


def pictures() -> list[dict[str, Any]]:
    """The figures that a cell left open, as outputs; they are closed."""
    from matplotlib import pyplot as plt

    outputs = []
    for number in plt.get_fignums():
        buffer = io.BytesIO()
        plt.figure(number).savefig(buffer, format="png", dpi=80, metadata={"Software": None})
        image = base64.b64encode(buffer.getvalue()).decode()
        data = {"image/png": image, "text/plain": ["<Figure>"]}
        outputs.append({"output_type": "display_data", "data": data, "metadata": {}})
    plt.close("all")
    return outputs


def executed(path: Path) -> dict[str, Any]:
    """A notebook with fresh outputs. Files that it writes go to the working directory."""
    mpl.use("Agg")
    pictures()  # what was open before is not the notebook's
    notebook: dict[str, Any] = json.loads(path.read_text())
    namespace: dict[str, Any] = {"__name__": "__main__"}
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    for count, cell in enumerate(cells, 1):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile("".join(cell["source"]), f"{path.name}, cell {count}", "exec"), namespace)
        text = printed.getvalue()
        streams = [{"output_type": "stream", "name": "stdout", "text": text.splitlines(keepends=True)}] if text else []
        cell["execution_count"], cell["outputs"] = count, [*streams, *pictures()]
    return notebook


if __name__ == "__main__":
    for notebook_path in NOTEBOOKS:
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            made = executed(notebook_path)
        notebook_path.write_text(json.dumps(made, indent=1, ensure_ascii=False) + "\n")
        print(f"{notebook_path.name}: {notebook_path.stat().st_size // 1000} kB")
