"""Numeric replies by their names in RFC 2812 and its successors."""

from typing import Final

# Registration: the first line of the welcome.
RPL_WELCOME: Final = "001"
# Registration.
RPL_YOURHOST: Final = "002"
# Registration: when the server started.
RPL_CREATED: Final = "003"
# Registration: version and mode letters.
RPL_MYINFO: Final = "004"
# Registration, `ISUPPORT`, `VERSION`: what the server supports. Also sent when a reload changes it.
RPL_ISUPPORT: Final = "005"
# `MAP`: one host, indented below the one it is linked to.
RPL_MAP: Final = "015"
# The end of `MAP`.
RPL_MAPEND: Final = "017"
# `STATS l`: a connection; bytes queued, packets and kB sent, packets and kB received, age in seconds.
RPL_STATSLINKINFO: Final = "211"
# `STATS m`: a command and how often clients sent it.
RPL_STATSCOMMANDS: Final = "212"
# The end of `STATS`.
RPL_ENDOFSTATS: Final = "219"
# `MODE` for one's own nick.
RPL_UMODEIS: Final = "221"
# `STATS u`: how long the server has been up.
RPL_STATSUPTIME: Final = "242"
# `STATS o`: an operator in the configuration.
RPL_STATSOLINE: Final = "243"
# Registration, `LUSERS`.
RPL_LUSERCLIENT: Final = "251"
# Registration, `LUSERS`.
RPL_LUSEROP: Final = "252"
# Registration, `LUSERS`.
RPL_LUSERUNKNOWN: Final = "253"
# Registration, `LUSERS`.
RPL_LUSERCHANNELS: Final = "254"
# Registration, `LUSERS`.
RPL_LUSERME: Final = "255"
# `ADMIN`.
RPL_ADMINME: Final = "256"
# `ADMIN`: the first line of `admin`.
RPL_ADMINLOC1: Final = "257"
# `ADMIN`: the second line of `admin`.
RPL_ADMINLOC2: Final = "258"
# `ADMIN`: the third line of `admin`.
RPL_ADMINEMAIL: Final = "259"
# Registration, `LUSERS`.
RPL_LOCALUSERS: Final = "265"
# Registration, `LUSERS`.
RPL_GLOBALUSERS: Final = "266"
# `WHOIS` of oneself, or by an operator: the client certificate.
RPL_WHOISCERTFP: Final = "276"
# `PRIVMSG` to somebody who is away, `WHOIS`.
RPL_AWAY: Final = "301"
# `USERHOST`.
RPL_USERHOST: Final = "302"
# `ISON`.
RPL_ISON: Final = "303"
# `AWAY` without text.
RPL_UNAWAY: Final = "305"
# `AWAY` with text.
RPL_NOWAWAY: Final = "306"
# `WHOIS`.
RPL_WHOISUSER: Final = "311"
# `WHOIS`, `WHOWAS`.
RPL_WHOISSERVER: Final = "312"
# `WHOIS`: an operator of the server.
RPL_WHOISOPERATOR: Final = "313"
# `WHOWAS`.
RPL_WHOWASUSER: Final = "314"
# The end of `WHO`.
RPL_ENDOFWHO: Final = "315"
# `WHOIS`.
RPL_WHOISIDLE: Final = "317"
# The end of `WHOIS`.
RPL_ENDOFWHOIS: Final = "318"
# `WHOIS`.
RPL_WHOISCHANNELS: Final = "319"
# `LIST`.
RPL_LISTSTART: Final = "321"
# `LIST`: size and topic of a channel.
RPL_LIST: Final = "322"
# The end of `LIST`.
RPL_LISTEND: Final = "323"
# `MODE` for a channel.
RPL_CHANNELMODEIS: Final = "324"
# `MODE` for a channel.
RPL_CREATIONTIME: Final = "329"
# `WHOIS`: logged in to an account.
RPL_WHOISACCOUNT: Final = "330"
# `TOPIC`.
RPL_NOTOPIC: Final = "331"
# `JOIN`, `TOPIC`.
RPL_TOPIC: Final = "332"
# `JOIN`, `TOPIC`: who set it and when.
RPL_TOPICWHOTIME: Final = "333"
# `WHOIS`: has user mode `B`.
RPL_WHOISBOT: Final = "335"
# `INVITE` without parameters: a channel that one is invited to.
RPL_INVITELIST: Final = "336"
# The end of that list.
RPL_ENDOFINVITELIST: Final = "337"
# `INVITE` was sent.
RPL_INVITING: Final = "341"
# `MODE` for a channel and `I`: mask, who set it and when.
RPL_INVEXLIST: Final = "346"
# The end of that list.
RPL_ENDOFINVEXLIST: Final = "347"
# `MODE` for a channel and `e`: mask, who set it and when.
RPL_EXCEPTLIST: Final = "348"
# The end of that list.
RPL_ENDOFEXCEPTLIST: Final = "349"
# `VERSION`.
RPL_VERSION: Final = "351"
# `WHO`.
RPL_WHOREPLY: Final = "352"
# `JOIN`, `NAMES`.
RPL_NAMREPLY: Final = "353"
# `WHO` with fields (WHOX).
RPL_WHOSPCRPL: Final = "354"
# `LINKS`: a host, the previous host on the route to it, its distance, and its description.
RPL_LINKS: Final = "364"
# The end of `LINKS`.
RPL_ENDOFLINKS: Final = "365"
# The end of `NAMES`.
RPL_ENDOFNAMES: Final = "366"
# `MODE` for a channel and `b`: mask, who set it and when.
RPL_BANLIST: Final = "367"
# The end of that list.
RPL_ENDOFBANLIST: Final = "368"
# The end of `WHOWAS`.
RPL_ENDOFWHOWAS: Final = "369"
# `INFO`.
RPL_INFO: Final = "371"
# Registration, `MOTD`.
RPL_MOTD: Final = "372"
# The end of `INFO`.
RPL_ENDOFINFO: Final = "374"
# Registration, `MOTD`.
RPL_MOTDSTART: Final = "375"
# The end of `MOTD`.
RPL_ENDOFMOTD: Final = "376"
# `OPER`.
RPL_YOUREOPER: Final = "381"
# `REHASH`.
RPL_REHASHING: Final = "382"
# `WHOIS` of oneself, or by an operator: where from.
RPL_WHOISHOST: Final = "378"
# `WHOIS` of oneself, or by an operator: user modes.
RPL_WHOISMODES: Final = "379"
# `TIME`.
RPL_TIME: Final = "391"

# An unknown `MONITOR` subcommand.
ERR_UNKNOWNERROR: Final = "400"
# Nobody has that nick.
ERR_NOSUCHNICK: Final = "401"
# There is no such server, or only that server can answer; the text says which.
ERR_NOSUCHSERVER: Final = "402"
# There is no such channel, or the name is not a valid channel name.
ERR_NOSUCHCHANNEL: Final = "403"
# Not a member (`n`), without voice (`m`), banned or muted (`b`), not logged in (`M`), or CTCP (`C`).
ERR_CANNOTSENDTOCHAN: Final = "404"
# `limits.channels_per_client` is reached.
ERR_TOOMANYCHANNELS: Final = "405"
# `WHOWAS`: no record of that nick.
ERR_WASNOSUCHNICK: Final = "406"
# More than `limits.targets` recipients.
ERR_TOOMANYTARGETS: Final = "407"
# `PING` without a token.
ERR_NOORIGIN: Final = "409"
# An unknown `CAP` subcommand.
ERR_INVALIDCAPCMD: Final = "410"
# `PRIVMSG` without a recipient.
ERR_NORECIPIENT: Final = "411"
# `PRIVMSG` without text.
ERR_NOTEXTTOSEND: Final = "412"
# The line was too long and was dropped whole.
ERR_INPUTTOOLONG: Final = "417"
# There is no such command.
ERR_UNKNOWNCOMMAND: Final = "421"
# There is no message of the day.
ERR_NOMOTD: Final = "422"
# `NICK`, `WHOIS` or `WHOWAS` without a nick.
ERR_NONICKNAMEGIVEN: Final = "431"
# Not a nick, or not one of this host; the text says which.
ERR_ERRONEUSNICKNAME: Final = "432"
# Somebody has that nick.
ERR_NICKNAMEINUSE: Final = "433"
# `MODE`, `KICK`: the user is not in the channel.
ERR_USERNOTINCHANNEL: Final = "441"
# Not a member of the channel.
ERR_NOTONCHANNEL: Final = "442"
# `INVITE`: the user is already in the channel.
ERR_USERONCHANNEL: Final = "443"
# `SUMMON` is disabled.
ERR_SUMMONDISABLED: Final = "445"
# `USERS` is disabled.
ERR_USERSDISABLED: Final = "446"
# The command needs a completed registration.
ERR_NOTREGISTERED: Final = "451"
# A parameter is missing.
ERR_NEEDMOREPARAMS: Final = "461"
# `USER` or `PASS` after registration.
ERR_ALREADYREGISTERED: Final = "462"
# The connection password or the operator password is wrong.
ERR_PASSWDMISMATCH: Final = "464"
# `JOIN`: the channel is full (`l`).
ERR_CHANNELISFULL: Final = "471"
# There is no such channel mode.
ERR_UNKNOWNMODE: Final = "472"
# `JOIN`: the channel is invite-only (`i`).
ERR_INVITEONLYCHAN: Final = "473"
# `JOIN`: one is banned (`b`).
ERR_BANNEDFROMCHAN: Final = "474"
# `JOIN`: the key is missing or wrong (`k`).
ERR_BADCHANNELKEY: Final = "475"
# `JOIN` or a message to a user: only for logged-in users (`R`).
ERR_NEEDREGGEDNICK: Final = "477"
# `limits.list_entries` is reached.
ERR_BANLISTFULL: Final = "478"
# Not an operator of the server.
ERR_NOPRIVILEGES: Final = "481"
# Not an operator of the channel.
ERR_CHANOPRIVSNEEDED: Final = "482"
# `KILL` with the name of the server.
ERR_CANTKILLSERVER: Final = "483"
# `OPER`: no such operator, or not with that account.
ERR_NOOPERHOST: Final = "491"
# There is no such user mode.
ERR_UMODEUNKNOWNFLAG: Final = "501"
# `MODE` for somebody else's nick.
ERR_USERSDONTMATCH: Final = "502"
# `HELP`: there is no such topic.
ERR_HELPNOTFOUND: Final = "524"
# A direct message to a host whose link is limited to some channels.
ERR_CANNOTSENDTOUSER: Final = "531"
# An invalid key, limit or mask.
ERR_INVALIDMODEPARAM: Final = "696"

# `WHOIS`: connected by TLS.
RPL_WHOISSECURE: Final = "671"
# `HELP`.
RPL_HELPSTART: Final = "704"
# `HELP`.
RPL_HELPTXT: Final = "705"
# The end of `HELP`.
RPL_ENDOFHELP: Final = "706"
# `MONITOR`: these nicks are online.
RPL_MONONLINE: Final = "730"
# `MONITOR`: these nicks are offline.
RPL_MONOFFLINE: Final = "731"
# `MONITOR L`.
RPL_MONLIST: Final = "732"
# The end of `MONITOR L`.
RPL_ENDOFMONLIST: Final = "733"
# `limits.monitored_nicks` is reached.
ERR_MONLISTFULL: Final = "734"
# The operator lacks the privilege for the command.
ERR_NOPRIVS: Final = "723"
# `WHOIS`: the value of a metadata key of the user.
RPL_WHOISKEYVALUE: Final = "760"
# `METADATA`: the value of a key. Also sent to subscribers when it changes.
RPL_KEYVALUE: Final = "761"
# `METADATA`: the key has no value. Also sent to subscribers when it is removed.
RPL_KEYNOTSET: Final = "766"
# `METADATA SUB`: subscribed to these keys.
RPL_METADATASUBOK: Final = "770"
# `METADATA UNSUB`: no longer subscribed to these keys.
RPL_METADATAUNSUBOK: Final = "771"
# `METADATA SUBS`.
RPL_METADATASUBS: Final = "772"
# `JOIN`, `METADATA SUB`: too much metadata at once; send `METADATA SYNC` in so many seconds.
ERR_METADATASYNCLATER: Final = "774"
# `METADATA`: too many changes; repeat the command in so many seconds.
ERR_METADATARATELIMIT: Final = "775"
# Logged in to an account; at once for local users (`accounts.local_users`) on a unix socket.
RPL_LOGGEDIN: Final = "900"
# `AUTHENTICATE` succeeded.
RPL_SASLSUCCESS: Final = "903"
# `AUTHENTICATE` failed: wrong credentials, unknown mechanism, or no `sasl` capability.
ERR_SASLFAIL: Final = "904"
# `AUTHENTICATE`: a chunk of more than 400 bytes, or a response of more than 6,400.
ERR_SASLTOOLONG: Final = "905"
# `AUTHENTICATE *`, or registration completed during the exchange.
ERR_SASLABORTED: Final = "906"
# `AUTHENTICATE`: the available mechanisms.
RPL_SASLMECHS: Final = "908"
