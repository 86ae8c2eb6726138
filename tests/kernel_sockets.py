"""A plugin for nbval: its kernels listen on sockets in a folder of their own, as `agon notebook`'s do.

By default a kernel gets a number of a port that is free now. On a busy machine another process can have it before the kernel does.
"""

import tempfile
from typing import Any

import nbval.kernel
from jupyter_client.manager import KernelManager
from traitlets import default


class SocketKernelManager(KernelManager):
    """A kernel whose sockets are files."""

    def __init__(self, **settings: Any):
        self._folder = tempfile.TemporaryDirectory(prefix="agon-kernel-")
        super().__init__(**settings)

    @default("transport")
    def _sockets(self):
        return "ipc"

    @default("ip")
    def _address(self):
        return f"{self._folder.name}/kernel"


nbval.kernel.KernelManager = SocketKernelManager
