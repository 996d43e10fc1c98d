"""Whether a session with a daemon is over, for those who open it anew."""

from __future__ import annotations

from ..errors import Cancelled, Error, FailedPrecondition, NotFound, Unavailable
from ..loaded_model import LoadedModel

#: What a request gets when the daemon, its host or the link between died: the session, the group and the model went
#: with it. A daemon that lives gives some of these errors for a request alone.
LOST = (Cancelled, FailedPrecondition, NotFound, Unavailable)


def is_there(model: LoadedModel) -> bool:
    """Whether the daemon still has the model in this session, and the model has not failed. Waits for the daemon."""
    try:
        return model.info.phase != "failed"
    except Error:
        return False
