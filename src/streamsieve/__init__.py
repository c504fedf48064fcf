"""streamsieve: select a small number of good features from data too wide, too long or never complete.

The public names are those of the stub beside this file; each is imported at first use, for most users need few of them.
"""

import lazy_loader

from .version import __version__

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
__all__ += ["__version__"]
