"""`python -m sendonce_kubectl`, and the file `kubectl-campaign`: as `kubectl_complete-campaign` it completes words."""

import sys
from pathlib import Path

from sendonce_kubectl.main import complete, main

if Path(sys.argv[0]).name.startswith("kubectl_complete"):
    complete()
else:
    main()
