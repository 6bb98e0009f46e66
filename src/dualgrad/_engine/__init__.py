"""The compiled engine; its sources are in ext/dualgrad/_engine. The structural primitives are defined first."""

from . import structural as structural
