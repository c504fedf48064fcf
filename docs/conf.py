"""Settings of the documentation site, which `make docs` builds in docs/_build/html."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))

from streamsieve.version import __version__  # noqa: E402

project = "streamsieve"
author = "the streamsieve developers"
copyright = author
version = release = __version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "reference_pages",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_build", "notes", "**/sg_execution_times.rst", "sg_execution_times.rst"]

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 4

templates_path = ["_templates"]
autosummary_generate = True
autosummary_context = {  # what scikit-learn gives to every estimator, and documents
    "not_documented": [
        "fit_transform",
        "get_metadata_routing",
        "get_params",
        "score",
        "set_fit_request",
        "set_output",
        "set_params",
        "set_partial_fit_request",
        "set_score_request",
    ]
}
autodoc_typehints = "none"
autodoc_inherit_docstrings = True
autoclass_content = "class"
numpydoc_show_class_members = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples/gallery",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_",
    "matplotlib_animations": False,
    "show_memory": False,
    "show_signature": False,
    "download_all_examples": False,
    "min_reported_time": 1e9,
}

html_theme = "pydata_sphinx_theme"
html_title = "streamsieve"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_sidebars = {"index": []}
html_theme_options = {
    "navbar_align": "left",
    "show_toc_level": 2,
    "header_links_before_dropdown": 6,
    "navigation_with_keys": False,
    "footer_start": ["copyright"],
    "footer_end": [],
    "use_edit_page_button": False,
}
