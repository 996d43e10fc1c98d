"""Requests on a GPU of 1 MiB, of which some take more: run_out_of_memory.py PACKAGE."""

import sys

import numpy as np
import sluice


def main() -> None:
    with sluice.load(sys.argv[1]) as model:
        for _ in range(3):
            for rows in (1, 7, 64):
                np.testing.assert_allclose(model(np.ones((rows, 4), np.float32)), [[rows * 4 * 256]])
            try:
                model(np.ones((4096, 4), np.float32))
            except sluice.ResourceExhausted as error:
                for part in ('node "widen" (MatMul)', 'backend "cuda-emulated"', "bytes on device 0", "too little free memory",
                             "load fewer models, or give it smaller inputs"):
                    assert part in str(error), (part, str(error))
            else:
                raise AssertionError("4 MiB on a device of 1 MiB")


if __name__ == "__main__":
    main()
