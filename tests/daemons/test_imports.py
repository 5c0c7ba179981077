"""What a daemon loads before it knows what it needs."""

import subprocess
import sys


def test_an_agent_loads_no_optional_package_before_its_own_copies_can_be_found() -> None:
    """The package ships newer copies of some; whichever is loaded first stays for good."""
    code = "import sys, culture.daemons.agent; print({'aiohttp', 'attr', 'mcp'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
