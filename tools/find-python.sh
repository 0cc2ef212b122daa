#!/bin/sh
# Print a Python from 3.11 to 3.13 that can make virtual environments (Ray has no wheels beyond 3.13).
for candidate in ${PYTHON:-python3 python3.12 python3.13 python3.11}; do
  if "$candidate" -c '
import ensurepip, sys, venv
raise SystemExit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null; then
    command -v "$candidate"
    exit 0
  fi
done
echo "no Python 3.11, 3.12 or 3.13 with venv was found: install one (Debian: python3 python3-venv)," >&2
echo "or name it: PYTHON=/path/to/python3.12 make ..." >&2
exit 1
