"""Configure Sphinx, which builds the site and runs its MyST notebooks; see ``make docs``."""

import os
import re
import sys
from pathlib import Path

import jaxtyping  # noqa: F401  # before vcjax, so that the reference shows the shapes of arrays
from jupyter_client.manager import KernelManager

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
# Lessons measure compiles. With a persistent cache, JAX would skip some of these compiles.
os.environ["JAX_ENABLE_COMPILATION_CACHE"] = "false"
# Encrypt the messages to and from Jupyter's kernels if this version of Jupyter can do so. Without
# encryption, kernels warn.
if hasattr(KernelManager, "transport_encryption"):
    KernelManager.transport_encryption.default_value = "auto"

project = "vcjax and jaxmeter"
author = "The vcjax developers"
extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "numpydoc",
    "sphinx_copybutton",
    "sphinx_design",
]
exclude_patterns = ["_build"]
html_theme = "sphinx_book_theme"
html_title = "vcjax and jaxmeter"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "show_toc_level": 2,
    # The sidebar has a search button, so the bar at the top needs no search button.
    "navbar_persistent": [],
    "use_download_button": False,
    "use_fullscreen_button": False,
}

myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
# Plain blocks on the pages are terminal output, so Pygments must not guess their language.
highlight_language = "text"

nb_execution_mode = "auto"
nb_execution_timeout = 300
nb_execution_raise_on_error = True
nb_merge_streams = True

autodoc_member_order = "bysource"
autodoc_default_options = {"members": True, "undoc-members": True}
autodoc_typehints = "none"
autodoc_preserve_defaults = True
numpydoc_show_class_members = False
default_role = "code"


def _plain(app, what, name, obj, options, lines):
    """Escape ``|`` and final ``_`` in a docstring, so that Sphinx shows |B| and PYTHON_ as text."""
    special = re.compile(r"(`[^`]*`)|(\||(?<=\w)_(?!\w))")
    lines[:] = [special.sub(lambda m: m[1] or rf"\{m[2]}", line) for line in lines]


def setup(app):
    """Connect `_plain` to Sphinx."""
    # Run after numpydoc, which has the default priority, 500.
    app.connect("autodoc-process-docstring", _plain, priority=600)
