"""The command line: parse, call, print."""

import ast
import importlib.util
import os
import re
import signal
import sys
import warnings
from collections.abc import Sequence
from importlib import metadata
from inspect import cleandoc
from pathlib import Path
from typing import NoReturn

from rich.markup import escape
from rich.table import Table

from evolvability.cli.printing import console, errors
from evolvability.core.entries import PACKAGE, loaded
from evolvability.core.errors import ConfigError, UserError, shell_words, unknown
from evolvability.training.interrupts import Terminated

COMMANDS = {
    "train": ".cli.training:train",
    "resume": ".cli.training:resume",
    "show": ".cli.runs:show",
    "figure": ".cli.runs:figure",
    "explore": ".cli.viewing:explore",
    "video": ".cli.viewing:video",
    "adapt": ".cli.populations:adapt",
    "evolve-from": ".cli.populations:evolve_from",
    "split": ".cli.populations:split",
    "measure": ".cli.measuring:measure",
    "race": ".cli.populations:race",
    "compare": ".cli.runs:compare",
    "sweep": ".cli.runs:sweep",
    "export": ".cli.runs:export",
    "list": ".cli.listing:list_names",
}
COMMANDS |= {found.name: found.value for found in metadata.entry_points(group="evolvability.commands")}
"""Every command by name: where its function is, whose signature and docstring are its options and their help.

Other packages add theirs as entry points: `evolvability_paper` brings ``reproduce``. It is imported when it runs.
"""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; an error that the user can correct is printed as one line, with an exit code."""
    arguments = sys.argv[1:] if arguments is None else arguments
    # Warnings for people: without Python's file and line.
    warnings.showwarning = lambda message, *_, **__: errors.print(
        f"[yellow]warning:[/yellow] {escape(str(message))}", highlight=False, soft_wrap=True
    )
    _open_standard_streams()
    for stream in (sys.stdout, sys.stderr):  # a name may have letters that a terminal has not
        stream.reconfigure(errors="replace")  # type: ignore[union-attr]
    try:
        with shell_words():
            _answer(arguments)
    except UserError as error:
        _fail(str(error))
    except BrokenPipeError:  # the reader of our output has gone, as `head` does
        # Python flushes standard output once more when it ends, and would complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)  # as programs end that heed the signal of it: what was under way may not be done
    except OSError as error:  # a full disk, no permission: whichever file it was, it is the user's to correct
        _fail(
            f"{error.filename or 'A file or the standard output'} cannot be read or written: {error.strerror or error}."
        )
    except (MemoryError, UnicodeEncodeError) as error:
        _fail(f"{'Too little memory' if isinstance(error, MemoryError) else 'A name that is not text'}: {error}.")
    except KeyboardInterrupt as stop:
        sys.stdout.flush()
        sys.stderr.flush()
        # Not sys.exit: an interpreter that ends while XLA compiles crashes. All is saved by now.
        os._exit(128 + (stop.number if isinstance(stop, Terminated) else signal.SIGINT))
    except SystemExit as stop:
        # The parser's: 2, or 0 of help. Nothing else ends this program, least of all with success.
        asked = any(word in ("-h", "--help") or word.startswith("--tyro-") for word in arguments)
        if stop.code != 2 and not asked:
            _fail(f"Code that this command runs ended the program, by sys.exit({stop.code!r}), before it was done.")
        raise
    except (RuntimeError, AssertionError, ValueError) as error:  # as those of JAX are, loaded where one is raised
        if why := _why_jax_does_not_start(error):
            given = ", ".join(f"{name}={value}" for name, value in os.environ.items() if name.startswith("JAX"))
            text = f"JAX does not start: {why}. The environment has {given or 'none of its variables'}."
            _fail(f"{text} Unset what it refuses, or ask for what JAX and this machine have.")
        if "jax" not in sys.modules or not isinstance(error, sys.modules["jax"].errors.JaxRuntimeError):
            raise
        if "RESOURCE_EXHAUSTED" in str(error) or "Out of memory" in str(error):
            _fail("The device has too little memory. Set --chunk-size, or lower --population-size or --seeds.")
        raise


def _why_jax_does_not_start(error: Exception) -> str:
    """What JAX says that cannot be imported, or finds no device; empty where it is well, or was not needed."""
    if "jax" not in sys.modules:  # but a part of it is, after an import that failed
        return str(error) if "jax.version" in sys.modules else ""
    try:
        sys.modules["jax"].devices()
    except (RuntimeError, AssertionError) as refusal:
        return str(refusal) or "it finds no device to compute on"
    return ""


def _open_standard_streams() -> None:
    """Lead closed ones, as by ``>&-``, nowhere: a file of a run would get their number, and what is printed with it."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # which takes the lowest number that is free
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, "w" if number else "r", closefd=False))  # noqa: SIM115 (to the end)


def _answer(arguments: Sequence[str]) -> None:
    if not arguments or arguments[0] in ("-h", "--help"):
        _overview()
    elif arguments[0] == "--version":
        from evolvability import __version__

        console.print(__version__, highlight=False)
    else:
        run_command(arguments[0], arguments[1:])


def run_command(name: str, arguments: Sequence[str]) -> None:
    """Run one command."""
    if name not in COMMANDS:
        raise ConfigError(unknown("command", name, COMMANDS))
    command = loaded(COMMANDS[name])
    if name == "train":  # whose options depend on the task, the objective and the population
        command(arguments)
    else:
        import tyro

        # Or an option's help would have the line breaks of its docstring.
        command.__doc__ = re.sub(r"\n {8}", " ", cleandoc(command.__doc__ or ""))
        tyro.cli(command, prog=f"ees {name}", args=arguments, config=(tyro.conf.OmitArgPrefixes,))


def _overview() -> None:
    table = Table(show_header=False, box=None)
    for name, where in COMMANDS.items():
        table.add_row(f"  [bold]{name}[/bold]", summary(where))
    console.print("[bold]ees[/bold]: optimize for parameters whose mutations behave in very different ways\n")
    console.print(table)
    console.print("\n`ees COMMAND --help` explains a command's options; `ees train TASK --help` those of a task.")


def summary(where: str) -> str:
    """The first sentence of a command's docstring, read from its file: to import it would load all that it uses.

    >>> summary(".cli.training:train")
    'Run a task into a new run folder'
    """
    module, _, name = where.partition(":")
    spec = importlib.util.find_spec(module, PACKAGE)
    tree = ast.parse(Path(spec.origin).read_text("utf-8") if spec and spec.origin else "")
    found = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == name]
    return (ast.get_docstring(found[0]) or "").split(".")[0] if found else ""


def _fail(text: str) -> NoReturn:
    errors.print(f"[bold red]error:[/bold red] {escape(text)}", highlight=False, soft_wrap=True)
    sys.exit(2)
