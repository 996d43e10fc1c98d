"""Tensors that stay in a daemon between requests, and those of daemons on other hosts."""

from __future__ import annotations

from typing import Any, NamedTuple

from . import _native
from .arrays import to_numpy
from .dtypes import STRING, Array, decode, encode, find_element_type
from .errors import InvalidArgument


class Offer(NamedTuple):
    """What a daemon of another host needs to fetch a tensor. The key is a secret."""

    exchange: int  #: its index there
    key: str


class ExchangedTensor:
    """A tensor in the exchange of a daemon. Requests of the same client take it as an input and read it there.

    It leaves the exchange when it is removed, when its time to live is over, or when the client ends.
    """

    def __init__(self, native: _native.Runtime, index: int) -> None:
        self._native = native
        self.index = index

    def index_for(self, runtime: _native.Runtime | None, name: str) -> int:
        """The index, for the input of that name of a model of `runtime`, which must be the tensor's own."""
        if self._native is not runtime:
            raise InvalidArgument(f'input "{name}": the tensor is in the exchange of another client; fetch it by its '
                                  "offer, or put a copy")
        return self.index

    def numpy(self) -> Array:
        """A copy. ResourceExhausted if the tensor is larger than a message of the daemon."""
        array: Array = decode(self._native.get_tensor(self.index))
        return array

    def bring(self, device: int) -> int | None:
        """Copies the tensor to a device with memory of its own, where requests read it from then on.

        Returns the device that the copy came from over a link, or `device` if it had it; None: it came from the host.
        Raises InvalidArgument for a device that works on the host's memory, ResourceExhausted without memory there.
        """
        return self._native.bring_tensor(self.index, device)

    def offer(self) -> Offer:
        """Lets daemons that `exchange_peers` of this one lists fetch the tensor; the same offer each time."""
        return Offer(self.index, self._native.offer_tensor(self.index))

    def remove(self) -> None:
        """Requests that read it keep it until they end."""
        self._native.remove_tensor(self.index)

    def __repr__(self) -> str:
        return f"<sluice.ExchangedTensor {self.index}>"

    def __reduce__(self) -> Any:
        raise TypeError("a tensor of a daemon's exchange cannot be pickled; pass its offer")


def put(native: _native.Runtime, value: object, ttl_ns: int) -> ExchangedTensor:
    """Puts a copy of an array there. Lists of numbers are f32."""
    array = to_numpy(value, 1, "value")
    number = STRING if array.dtype == object else find_element_type(array.dtype)
    if number is None:
        raise InvalidArgument(f"numpy type {array.dtype} has no element type")
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    return ExchangedTensor(native, native.put_tensor(encode(array, number), ttl_ns))
