"""An agent on a host, as the how-to sets it up: on the rehearsal model."""

from system.hostlab.host import Host

SERVICE, SOCKET = "culture-agent@spark-claude.service", "culture-agent@spark-claude.socket"
IRC = "/usr/lib/culture/bin/irc"
USER = "culture-spark-claude"
EXAMPLE = "/usr/share/doc/culture/examples/rehearsal.conf"
DROP_IN = "/etc/systemd/system/culture-agent@.service.d/rehearsal.conf"


def start_agent(host: Host, *keys: str) -> None:
    """With these lines of agents.yaml about it."""
    about = "".join(f"    {key}\n" for key in keys)
    host.write("/etc/culture/agents.yaml", f"agents:\n  - nick: spark-claude\n{about}")
    if keys:
        host.run("culturectl", "units")
    host.run("install", "-D", "-m", "0644", EXAMPLE, DROP_IN)
    host.systemctl("daemon-reload")
    host.systemctl("enable", "--now", SERVICE)


def cli_processes(host: Host) -> set[str]:
    return set(host.run("pgrep", "--exact", "claude", check=False).stdout.split())
