"""What the tables of volumes print: figures beside those that are wanted."""

import statistics


class Figures:
    """Prints figures as they come, and at the end those that were wanted with whether they are met."""

    def __init__(self):
        self.judged = []

    def say(self, text):
        print(text, flush=True)

    def title(self, text):
        self.say(f"\n{text}")

    def wanted(self, what, value, limit, unit="", least=False):
        """A figure that may be at most `limit`, or with `least` at least."""
        is_met = value >= limit if least else value <= limit
        line = f"{what}: {value:.3g}{unit} (wanted {'>=' if least else '<='} {limit:g}{unit})"
        self.judged.append((is_met, line))
        self.say(f"    {'meets ' if is_met else 'MISSES'} {line}")

    def summary(self):
        self.title(f"{sum(met for met, _ in self.judged)} of {len(self.judged)} wanted figures are met; not met:")
        for met, line in self.judged:
            if not met:
                self.say(f"    {line}")


def median(values):
    return statistics.median(values)


def span(values, unit=""):
    """A median with its range."""
    return f"{median(values):.3g}{unit} ({min(values):.3g}-{max(values):.3g})"
