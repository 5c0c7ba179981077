"""Privileges of server operators, by the current configuration."""

from culture.config.ircd import OperConfig, Privilege
from culture.ircd.refusal import Refusal, not_an_operator
from culture.ircd.server import Ircd
from culture.ircd.session import Session
from culture.protocol.numerics import ERR_NOPRIVS


def find_operator(ircd: Ircd, name: str) -> OperConfig | None:
    return next((config for config in ircd.config.opers if config.name == name), None)


def has_privilege(ircd: Ircd, session: Session, privilege: Privilege) -> bool:
    config = find_operator(ircd, session.oper) if session.user.is_operator else None
    return config is not None and privilege in config.privileges


def require_privilege(ircd: Ircd, session: Session, privilege: Privilege) -> None:
    if not session.user.is_operator:
        raise not_an_operator()
    if not has_privilege(ircd, session, privilege):
        raise Refusal(ERR_NOPRIVS, privilege, "Insufficient oper privileges.")
