"""The commands. Only typer and the standard library are imported until a command runs."""

import io
import os
import sys
import traceback
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer

from stereotrope.cli.designing import design_audit
from stereotrope.cli.faults import errors_of
from stereotrope.cli.gate import FailOn, objections
from stereotrope.cli.listing import LISTING
from stereotrope.cli.mitigating import mitigate_run
from stereotrope.cli.options import (
    EngineOption,
    MaxCostOption,
    OpenOption,
    PicturesOption,
    PlanOption,
    RayAddressOption,
    RunFolderArgument,
)
from stereotrope.cli.registered import CommandGroup
from stereotrope.cli.stopping import signals_end_the_command
from stereotrope.commands import AsJson, settings
from stereotrope.errors import GateError, Interrupted, StereotropeError, UsageError
from stereotrope.version import __version__

GIVES_BACK = ("_RJEM_MALLOC_CONF", "dirty_decay_ms:0,muzzy_decay_ms:0")
"""Read by Polars where it is imported: memory is given back at once, not kept for a while."""

app = typer.Typer(
    name="stereotrope",
    cls=CommandGroup,
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Audit how text-to-image models stereotype, with honest uncertainty.\n\n"
    "Five verbs over five tables: design, generate, annotate, measure, report. Begin with "
    "[bold]stereotrope demo[/bold] (offline, no key), then [bold]stereotrope init objects > audit.yaml"
    "[/bold] and [bold]stereotrope run audit.yaml -o runs/first[/bold].",
)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"stereotrope {__version__}")
        raise typer.Exit


@app.callback()
def options(
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress on stderr.")] = False,
    verbose: Annotated[
        bool,
        typer.Option("--verbose", "-v", help="Show the traceback of an error, and every prompt of a plan."),
    ] = False,
    no_color: Annotated[
        bool, typer.Option("--no-color", help="No colour; the variable NO_COLOR does the same.")
    ] = False,
    seed: Annotated[
        int | None,
        typer.Option("--seed", min=0, max=20_000, help="Use this seed instead of the audit file's."),
    ] = None,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Keep the global options."""
    settings.quiet, settings.verbose, settings.no_color, settings.seed = quiet, verbose, no_color, seed


@app.command(rich_help_panel="Start here")
def demo(
    output: Annotated[Path, typer.Option("--output", "-o", help="The run folder.")] = Path("runs/demo"),
    open_report: OpenOption = False,
) -> None:
    """Carry out a small audit offline: no key, no GPU, no network.

    The calibrated generator draws cups, cars and sofas with a bias that is written down;
    the offline annotators look at them; the report shows what was recovered.
    """
    from stereotrope.audit import Audit
    from stereotrope.cli.console import carry_out_in_terminal

    text = (Path(__file__).parent / "demo.yaml").read_text("utf-8")
    audit = Audit.from_text(text, name="demo.yaml", seed=settings.seed)
    audit.refuse_other_run(output)
    carry_out_in_terminal(
        lambda watcher, stop: audit.run(output, watcher=watcher, stop=stop),
        output,
        settings,
        open_report=open_report,
    )


@app.command(rich_help_panel="Start here")
def init(
    suite: Annotated[str, typer.Argument(help="A suite; `stereotrope suites` lists them.")] = "objects",
) -> None:
    """Print a commented audit file for a suite; redirect it into a file and edit it."""
    from stereotrope.suites.reading import audit_template

    typer.echo(audit_template(suite), nl=False)


app.command("design", rich_help_panel="Start here")(design_audit)


@app.command("run", rich_help_panel="Start here")
def run_audit(
    audit: Annotated[Path, typer.Argument(metavar="AUDIT.yaml", help="The audit file.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The run folder; else runs/<name of the file>.")
    ] = None,
    plan: PlanOption = False,
    max_cost: MaxCostOption = None,
    engine: EngineOption = "local",
    ray_address: RayAddressOption = None,
    pictures: PicturesOption = None,
    open_report: OpenOption = False,
) -> None:
    """Generate, annotate, measure and report; the same command again continues.

    Only what is missing is done. Press Ctrl-C once to finish what is in flight
    and stop, twice to stop at once; nothing that was finished is lost.

    Exit codes: 0 done, 2 a mistake in the audit file, 3 something is missing,
    4 the cap on spending is reached, 130 stopped (143 by SIGTERM).
    """
    from stereotrope.audit import Audit
    from stereotrope.audit.packages import packages_told
    from stereotrope.cli.console import carry_out_in_terminal
    from stereotrope.cli.planning import print_plan
    from stereotrope.run import Engine

    using = Engine(engine, ray_address)
    if pictures is not None and pictures.startswith("memory:"):
        raise UsageError(f"--pictures {pictures}: memory ends with this command; name a place that stays")
    asked = Audit.from_yaml(audit, seed=settings.seed)
    folder = output or Path("runs") / audit.stem
    if plan:
        with packages_told(folder):
            planned = asked.plan(folder=folder)
        print_plan(planned, folder, settings, max_cost=max_cost)
    else:
        carry_out_in_terminal(
            lambda watcher, stop: asked.run(
                folder, watcher=watcher, stop=stop, max_cost=max_cost, engine=using, pictures=pictures
            ),
            folder,
            settings,
            open_report=open_report,
        )


@app.command("power", rich_help_panel="Start here")
def power_of_audit(
    audit: Annotated[Path, typer.Argument(metavar="AUDIT.yaml", help="The audit file.")],
    shift: Annotated[
        float, typer.Option("--shift", min=0.01, max=1, help="Difference of shares that matters to you.")
    ] = 0.3,
    chance: Annotated[
        float, typer.Option("--chance", min=0.05, max=0.99, help="How often it shall be found.")
    ] = 0.8,
    icc: Annotated[
        float,
        typer.Option("--icc", min=0, max=0.99, help="How alike pictures of one prompt are, of several."),
    ] = 0.1,
    half: Annotated[
        float,
        typer.Option("--within", min=0.001, max=1.0, help="Half of the width that an interval may have."),
    ] = 0.1,
    as_json: AsJson = False,
) -> None:
    """Say how small a difference an audit would find, how wide its intervals
    would be, and how many pictures that takes.

    Simulates labels for the audit's design and runs its own measures over them,
    all comparisons tested against one another as in the run. Nothing is drawn
    or asked; it takes seconds to a minute, with captions of several models more.
    """
    from stereotrope.audit import Audit
    from stereotrope.cli.power import print_power

    plan = Audit.from_yaml(audit, seed=settings.seed).plan()
    print_power(plan, shift, half, settings, as_json=as_json, chance=chance, icc=icc)


@app.command(rich_help_panel="On a run")
def measure(folder: RunFolderArgument) -> None:
    """Compute the estimates of a run again from its labels, then the report; calls no model.

    Press Ctrl-C once to stop after the measure or figure at hand.
    """
    from stereotrope.calibrate import audit_of
    from stereotrope.cli.console import carry_out_in_terminal
    from stereotrope.run import changes_told

    with changes_told(folder):
        audit = audit_of(folder, seed=settings.seed)
        carry_out_in_terminal(
            lambda watcher, stop: audit.measure(folder, watcher=watcher, stop=stop), folder, settings
        )


@app.command(rich_help_panel="On a run")
def report(
    folder: RunFolderArgument,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Where to write it.")] = None,
    open_report: Annotated[bool, typer.Option("--open", help="Open it in the browser.")] = False,
) -> None:
    """Write the report of a run again: one HTML file, tables and figures.

    Press Ctrl-C once to stop after the file at hand; each is whole or as it was.
    """
    from stereotrope import report as reports
    from stereotrope.cli.console import working
    from stereotrope.escape import visible
    from stereotrope.run import open as open_run
    from stereotrope.run import writing

    run = open_run(folder)
    with working(settings) as (watcher, stop), nullcontext() if output is not None else writing(folder):
        page = reports.write(run, out=output, stop=stop, say=watcher.say)
    typer.echo(visible(str(page)))
    if open_report:
        typer.launch(str(page))


@app.command(rich_help_panel="On a run")
def show(folder: RunFolderArgument, as_json: AsJson = False, fail_on: FailOn = None) -> None:
    """Show the headline of a run: what was asked, what is missing, the findings, the main scores.

    With --json also every finding with the numbers behind its sentence.

    With --fail-on it ends with exit code 5 where the run shows what is named. Exit code 0 says then that it
    was not found, not that it is not there: `stereotrope power` says what would have been.
    """
    from stereotrope import report as reports
    from stereotrope.cli.console import known_words, print_headline
    from stereotrope.escape import visible_line
    from stereotrope.run import changes_told
    from stereotrope.run import open as open_run
    from stereotrope.terminal import print_json

    with changes_told(folder):
        headline = reports.headline(open_run(folder), words=known_words, texts=as_json)
        if as_json:
            print_json(headline)
        else:
            print_headline(headline, settings)
    if told := objections(headline, fail_on or ()):
        raise GateError("\n".join(visible_line(f"{folder}: {one}") for one in told))


@app.command(rich_help_panel="On a run")
def verify(folder: RunFolderArgument) -> None:
    """Say whether a run is as it was made: its files, records and pictures; changes nothing.

    Tables, run.json and audit.yaml are compared with seal.json, every row of the
    ledger with its checksum and how many there are with run.json, images with the
    ledger, pictures with the SHA-256 in their names, and label files made
    elsewhere with the SHA-256 in run.json. A line a fault. The report, which is
    made from these, is not compared.

    Exit codes: 0 all is as it was, 1 something is not, 3 there is no run, or it
    has no tables yet.
    """
    from stereotrope.audit.verifying import verify_run
    from stereotrope.escape import visible_line

    found = verify_run(folder)
    for line in (*found.faults, *found.notes):
        typer.echo(visible_line(line))
    if found.faults:
        raise typer.Exit(1)
    typer.echo(f"All is as it was made: tables, ledger and {found.n_pictures:,} pictures.")


app.command("mitigate", rich_help_panel="On a run")(mitigate_run)


@app.command("calibrate", rich_help_panel="On an instrument")
def calibrate_instruments(
    annotators: Annotated[
        list[str] | None,
        typer.Option(
            "--annotator",
            "-a",
            help="Annotator to check, repeatable: a name, PROVIDER:MODEL, or an entry of an audit file "
            "such as '{questions: openai:gpt-4o, temperature: 0}'; else colour and text.",
        ),
    ] = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="The run folder.")] = Path("runs/calibrate"),
    images: Annotated[int, typer.Option("--images", min=1, help="Pictures of each prompt.")] = 20,
    base_url: Annotated[
        str | None,
        typer.Option("--base-url", metavar="URL", help="Where the models are reached; else the provider's."),
    ] = None,
    key: Annotated[
        str | None,
        typer.Option(
            "--key", metavar="VARIABLE", help="Environment variable that holds their key; none for no key."
        ),
    ] = None,
    requests_per_minute: Annotated[
        float | None,
        typer.Option("--requests-per-minute", min=0, metavar="N", help="Ask a model at most so often."),
    ] = None,
    plan: PlanOption = False,
    max_cost: MaxCostOption = None,
    engine: EngineOption = "local",
    ray_address: RayAddressOption = None,
    as_json: AsJson = False,
) -> None:
    """Check an instrument on pictures of known truth: accuracy, confusions, recovered bias.

    Audits the calibrated generator with the annotators and sets every estimate
    beside the truth that was planted. A model is also asked with its options
    reversed, about empty pictures, without a picture, and about pictures into
    which a false caption or an instruction is painted. The same command again
    continues.

    Exit codes: 0 every check passes, 3 a check fails or the evidence is
    insufficient, 4 the cap on spending is reached, 130 stopped (143 by SIGTERM).
    """
    from stereotrope.cli.calibrating import CalibrationOptions, run_calibration
    from stereotrope.run import Engine

    asked = CalibrationOptions(
        annotators or ["colour", "text"],
        output,
        images,
        base_url=base_url,
        key=key,
        requests_per_minute=requests_per_minute,
        max_cost=max_cost,
        engine=Engine(engine, ray_address),
        plan=plan,
        as_json=as_json,
    )
    run_calibration(asked, settings)


for _command in LISTING:
    app.command(rich_help_panel="What there is")(_command)


@app.command("schema", rich_help_panel="What there is")
def audit_schema() -> None:
    """Print the JSON Schema of the audit file, for editors."""
    from stereotrope.audit.file import json_schema
    from stereotrope.terminal import print_json

    print_json(json_schema())


_PIPE_CLOSED = 141
"""Exit code where nobody reads on (`show … | head`): what a shell tells of other tools (128 + SIGPIPE)."""


def main(arguments: list[str] | None = None) -> Any:
    """Run the command line; every expected error is one message on stderr and its exit code."""
    os.environ.setdefault(*GIVES_BACK)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # which may be none of UTF-8, and a κ no reason to end
            stream.reconfigure(errors="backslashreplace")
    try:
        with signals_end_the_command():
            return app(args=arguments)
    except BrokenPipeError:
        sys.exit(_PIPE_CLOSED)
    except SystemExit as ended:  # Typer makes 1 of it, which is no exit code of ours
        if isinstance(ended.__context__, BrokenPipeError):
            sys.exit(_PIPE_CLOSED)
        raise
    except BaseException as error:
        ours = isinstance(error, StereotropeError | ImportError | MemoryError | OSError | RuntimeError)
        panic = type(error).__name__ == "PanicException"  # of Polars, which is no Exception
        told = errors_of(error) if ours or panic else []
        if not told:
            raise
        if settings.verbose:
            _print_lines(traceback.format_exc().strip())
        for one in told:
            _print_lines(f"{'' if isinstance(one, Interrupted) else 'error: '}{one}")
        sys.exit(told[0].exit_code)


def _print_lines(text: str) -> None:
    from stereotrope.escape import visible

    for line in text.split("\n"):
        typer.echo(visible(line), err=True)
