"""What the codec costs, beside C that does the same work and beside plain struct code.

- `python -m benchmarks`: the table of targets, measured, reached or missed
- `python -m pytest benchmarks`: every workload at every size, with pytest-benchmark
"""

import sys
from pathlib import Path

HERE = Path(__file__).parent
TESTS = HERE.parent / "tests"

# For alloc_counter, which counts the blocks.
sys.path.append(str(TESTS))
