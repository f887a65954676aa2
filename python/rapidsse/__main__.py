import sys

from rapidsse._cli import main

sys.exit(main())
