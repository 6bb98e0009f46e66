"""The compiled engine; its sources are in ext/dualgrad/_engine."""
