"""Results as text for people."""

from __future__ import annotations

from typing import Any

import click


def show_summary(summary: dict[str, Any], saved_to: Any) -> None:
    """A run, from its summary; what is to be noted comes first, as warnings do."""
    for remark in summary["details"].get("diagnosis", []):
        if remark["level"] == "note":
            click.echo(f"streamsieve: note: {remark['message']}; {remark['advice']}", err=True)
    click.echo(f"{summary['method']} kept {summary['n_selected']:,} of {summary['n_features']:,} features")
    click.echo(f"  rows            {summary['n_rows']:,} ({summary['n_nonzero']:,} non-zeros)")
    if summary["mistake_rate"] is not None:
        click.echo(f"  online mistakes {summary['mistakes']:,} ({summary['mistake_rate']:.2%})")
    if "test_accuracy" in summary:
        click.echo(f"  test accuracy   {summary['test_accuracy']:.2%}")
    if "curve" in summary:
        click.echo("  online accuracy with the best k features")
        for k, accuracy in zip(summary["curve"]["n_features"], summary["curve"]["accuracy"], strict=True):
            click.echo(f"    {k:>6,}        {accuracy:.2%}")
    if "measures" in summary and summary["params"].get("measure") == "auto":
        measured = ", ".join(f"{count:,} by {measure}" for measure, count in summary["measures"].items())
        click.echo(f"  relevant        {measured}")
    if "groups" in summary["details"]:
        click.echo(f"  groups          {len(set(summary['details']['groups'])):,}")
    click.echo(f"  time            {time_taken(summary['seconds'])}")
    click.echo(f"  peak memory     {summary['peak_memory_bytes'] / 1e6:,.0f} MB")
    if summary["best"]:
        click.echo(f"best {len(summary['best'])} by score")
    for line in summary["best"]:
        group = f"  group {line['group']}" if "group" in line else ""
        click.echo(f"  {line['feature']:<12} {line['score']:<12.6g} {line.get('name', '')}{group}".rstrip())
    if saved_to:
        click.echo(f"saved to {saved_to}")


def time_taken(seconds: dict[str, float]) -> str:
    """Seconds in all and where they went; compiling happens once, at first use."""
    parts = f"reading {seconds['read']:.2f}, learning {seconds['learn']:.2f}"
    compiling = seconds.get("compile", 0.0)
    return f"{seconds['total']:.2f} s ({parts}{f', compiling {compiling:.2f}' if compiling else ''})"


def show_data(name: str, description: dict[str, Any]) -> None:
    click.echo(name)
    click.echo(f"  rows       {description['rows']:,}")
    click.echo(f"  features   {description['features']:,}" + (" (named)" if description["named"] else ""))
    click.echo(
        f"  non-zeros  {description['nonzeros']:,} ({description['nonzeros_per_row']:.1f} per row, "
        f"density {description['density']:.3g})"
    )
    if description["nonzeros"]:
        click.echo(f"  values     {description['smallest_value']:.6g} to {description['largest_value']:.6g}")
    for label, count in description["labels"].items():
        click.echo(f"  label {label:<5}{count:,} rows ({count / description['rows']:.1%})")
    if 0 < description["label_changes"] < len(description["labels"]):
        click.echo("  the rows are sorted by label: shuffle them before learning from a stream")


def show_methods(descriptions: list[dict[str, Any]]) -> None:
    for method in descriptions:
        click.echo(f"{method['name']:<22}{method['summary']}")
        for name, default in method["params"].items():
            click.echo(f"    {name} = {default}")
