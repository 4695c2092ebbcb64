"""The command list."""

from rich.table import Table

from evolvability.cli.printing import console
from evolvability.config.schema import PRESETS
from evolvability.core.entries import POPULATIONS
from evolvability.methods.registry import OBJECTIVES
from evolvability.tasks.registry import TASKS


def list_names() -> None:
    """Show the tasks, objectives, populations and presets there are."""
    sections = {
        "tasks": {name: entry.summary for name, entry in TASKS.items()} | {"module:name": "a Task of your own"},
        "objectives": {name: entry.summary for name, entry in OBJECTIVES.items()},
        "populations": {name: entry.summary for name, entry in POPULATIONS.items()},
        "presets": {name: text for name, (text, _) in PRESETS.items()},
    }
    for title, names in sections.items():
        table = Table(title=title, title_justify="left", title_style="bold", show_header=False, box=None)
        for name, text in names.items():
            table.add_row(f"  {name}", text)
        console.print(table)
