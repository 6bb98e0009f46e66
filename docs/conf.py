"""Settings of the documentation; `.ci/run docs` builds it."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import generate

import dualgrad

project = "dualgrad"
author = "The dualgrad developers"
copyright = author
version = release = dualgrad.__version__

extensions = ["sphinx.ext.autodoc", "sphinx.ext.napoleon", "myst_parser", "sphinx_copybutton", "sphinx_design"]
exclude_patterns = ["examples"]

myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 3

# Docstrings: numpydoc sections; a name in single backticks is a link if there is such a name.
default_role = "py:obj"
add_module_names = False
python_display_short_literal_types = True
napoleon_google_docstring = False
napoleon_use_ivar = True
napoleon_use_rtype = False
napoleon_use_param = False
autodoc_typehints = "none"
autodoc_preserve_defaults = True
autodoc_inherit_docstrings = False
autodoc_member_order = "bysource"

# Links that say where they lead must lead there; a bare word in backticks may be a parameter.
nitpicky = True
nitpick_ignore_regex = [("py:(class|exc)", ".*"), ("py:.*", r"[^.]*"), ("py:.*", r"(?!dualgrad\.).*")]

html_theme = "furo"
html_title = "dualgrad"
html_static_path = ["_static"]
html_css_files = ["tables.css"]
html_show_sourcelink = False
html_copy_source = False
# Prompts and results stay behind when an example is copied.
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True


def setup(app):
    app.connect("builder-inited", lambda app: generate.write(Path(app.srcdir) / "generated"))
