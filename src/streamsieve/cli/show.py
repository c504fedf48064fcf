"""Results as text for people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from ..selection import RunRecord

MOST_FEATURES = 10  # shown; the rest is in the run's folder and in --json


def show_record(record: RunRecord, saved_to: Any) -> None:
    kept = len(record.selection)
    click.echo(f"{record.method} kept {kept:,} of {record.n_features:,} features")
    click.echo(f"  rows            {record.n_rows:,} ({record.n_nonzero:,} non-zeros)")
    if record.mistakes is not None:
        click.echo(f"  online mistakes {record.mistakes:,} ({record.mistakes / record.n_rows:.2%})")
    if record.test_accuracy is not None:
        click.echo(f"  test accuracy   {record.test_accuracy:.2%}")
    if record.curve is not None:
        click.echo("  online accuracy with the best k features")
        for k, share in zip(record.curve["n_features"], record.curve["accuracy"], strict=True):
            click.echo(f"    {k:>6,}        {share:.2%}")
    if record.measures is not None and record.params.get("measure") == "auto":
        told = ", ".join(f"{count:,} by {measure}" for measure, count in record.measures.items())
        click.echo(f"  relevant        {told}")
    seconds = record.seconds
    click.echo(
        f"  time            {seconds['total']:.2f} s (reading {seconds['read']:.2f}, learning {seconds['learn']:.2f})"
    )
    click.echo(f"  peak memory     {record.peak_memory_bytes / 1e6:,.0f} MB")
    if kept:
        click.echo(f"best {min(kept, MOST_FEATURES)} by score")
    for feature, score, *name in record.selection.ranked()[:MOST_FEATURES]:
        click.echo(f"  {feature:<12} {score:<12.6g} {''.join(name)}".rstrip())
    if saved_to:
        click.echo(f"saved to {saved_to}")


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
