"""Sinew in the place of numba's OpenMP layer, in each interpreter that has this folder on
PYTHONPATH: numba's tests start interpreters of their own, by the layer's name.
"""

import importlib.abc
import importlib.machinery
import sys

_MODULE = "numba.np.ufunc.omppool"


class _Layer(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds Sinew under the name of numba's module."""

    def find_spec(self, name, path, target=None):
        return importlib.machinery.ModuleSpec(name, self) if name == _MODULE else None

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        import sinew.numba

        sinew.numba.fill(module)


sys.meta_path.insert(0, _Layer())
