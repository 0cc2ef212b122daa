#!/usr/bin/env bash
# What the tests need besides Python: Chromium.  Installed where that is possible, asked for where it is not.
set -euo pipefail

if command -v chromium >/dev/null; then
  exit 0
fi
if [[ $(id -u) == 0 ]] && command -v apt-get >/dev/null; then
  apt-get update -q
  DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends chromium </dev/null
  exit 0
fi
echo "missing: chromium, which the browser tests drive.  Install your system's package of it" >&2
echo "(Debian: sudo apt-get install chromium), or run what needs none: make test-fast" >&2
exit 1
