"""What tests of several masters share."""

import sys
import threading

from cluster import PATIENCE, REPOSITORY

sys.path.insert(0, str(REPOSITORY / "python"))
from determined.common.api import Session, errors


class Writer(threading.Thread):
    """Makes one model after the other, and remembers those that were acknowledged and those that may be made."""

    def __init__(self, addresses):
        super().__init__(daemon=True)
        self.session = Session(addresses, "determined", "")
        self.acknowledged, self.uncertain = [], []
        self.stopping = False
        self.start()

    def run(self):
        number = 0
        while not self.stopping:
            number += 1
            name = f"m{number}"
            try:
                self.session.post("/api/v1/models", {"name": name})
                self.acknowledged.append(name)
            except errors.MasterNotFoundException:  # it may have been made, or not
                self.uncertain.append(name)
            except errors.APIException as error:  # refused while the database cannot be reached
                if "nothing was changed" not in str(error):
                    raise
                threading.Event().wait(0.1)

    def end(self):
        self.stopping = True
        self.join(PATIENCE)
        assert not self.is_alive()
