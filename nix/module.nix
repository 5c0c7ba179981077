# services.culture: the IRC server of this host and its agents. The units are those of the package; only what NixOS
# does not take from a unit file is said here.
{
  config,
  lib,
  pkgs,
  ...
}:

let
  cfg = config.services.culture;
  yaml = pkgs.formats.yaml { };
  ircdFile = yaml.generate "ircd.yaml" cfg.ircd.settings;
  agentsFile = yaml.generate "agents.yaml" cfg.agents.settings;
  bridgeFile = yaml.generate "bridge.yaml" cfg.bridge.settings;
  # What agents.yaml says of each agent's service: where it works, as whom, and how much memory it may have.
  dropIns = pkgs.runCommand "culture-agents-units" { } ''
    mkdir $out
    ${cfg.package}/bin/culturectl units --config ${agentsFile} --root $out
  '';
  agents = cfg.agents.settings.agents or [ ];
  unitOf = agent: "culture-agent@${agent.nick}.service";
  userOf = agent: "culture-${agent.nick}";
in
{
  options.services.culture = {
    enable = lib.mkEnableOption "Culture, an IRC network of people and AI coding agents";

    package = lib.mkOption {
      type = lib.types.package;
      default = pkgs.callPackage ./package.nix { };
      defaultText = lib.literalExpression "pkgs.callPackage ./package.nix { }";
      description = "The package that has the programs and the units.";
    };

    ircd.settings = lib.mkOption {
      type = yaml.type;
      default = { };
      example = {
        name = "spark";
      };
      description = "What {file}`/etc/culture/ircd.yaml` says: {manpage}`culture-ircd.yaml(5)`.";
    };

    agents.settings = lib.mkOption {
      type = yaml.type;
      default = { };
      example = {
        agents = [ { nick = "spark-claude"; } ];
      };
      description = ''
        What {file}`/etc/culture/agents.yaml` says: {manpage}`culture-agents.yaml(5)`. Every agent in it is started.
      '';
    };

    bridge.settings = lib.mkOption {
      type = yaml.type;
      default = { };
      example = {
        clients = [
          {
            name = "ori-laptop";
            nick = "spark-ori-laptop";
            token_sha256 = "6d01f1c7bd5f9d1e3a4c0f5e8b2a7c94d3e6f8091a2b3c4d5e6f708192a3b4c5";
          }
        ];
      };
      description = ''
        What {file}`/etc/culture/bridge.yaml` says: {manpage}`culture-bridge.yaml(5)`. Without settings there is no bridge.
      '';
    };

    agents.environment = lib.mkOption {
      type = lib.types.attrsOf lib.types.str;
      default = { };
      example = {
        ANTHROPIC_BASE_URL = "http://127.0.0.1:8645";
      };
      description = "Variables for every agent. Anyone on the host can read them: keys are credentials instead.";
    };

    agents.path = lib.mkOption {
      type = lib.types.listOf lib.types.package;
      default = [ ];
      example = lib.literalExpression "[ pkgs.claude-code pkgs.git ]";
      description = "What agents have on their PATH: the program `claude`, and the tools that they work with.";
    };
  };

  config = lib.mkIf cfg.enable {
    environment.systemPackages = [ cfg.package ];
    environment.etc."culture/ircd.yaml".source = ircdFile;
    environment.etc."culture/agents.yaml".source = agentsFile;
    environment.etc."culture/bridge.yaml".source = bridgeFile;
    environment.etc."culture/motd".source = "${cfg.package}/share/culture/motd";

    # As in units/culture.sysusers, and as culture-agent-user@.service makes them elsewhere: here it finds them.
    users.users = {
      culture = {
        isSystemUser = true;
        group = "culture";
        home = "/var/lib/culture";
        description = "Culture server";
      };
      culture-bridge = {
        isSystemUser = true;
        group = "culture-bridge";
        extraGroups = [ "culture" ];
        home = "/var/lib/culture";
        description = "Culture MCP bridge";
      };
      culture-agent = {
        isSystemUser = true;
        group = "culture-agent";
        extraGroups = [ "culture" ];
        home = "/var/lib/culture";
        description = "Culture agents";
      };
      culture-ledger = {
        isSystemUser = true;
        group = "culture-ledger";
        home = "/var/lib/culture";
        description = "Culture ledger";
      };
    }
    // builtins.listToAttrs (
      map (agent: {
        name = userOf agent;
        value = {
          isSystemUser = true;
          group = userOf agent;
          extraGroups = [ "culture" ];
          home = "/var/lib/culture/agents/${agent.nick}";
          description = "Culture agent ${agent.nick}";
        };
      }) agents
    );
    users.groups = {
      culture = { };
      culture-agent = { };
      culture-ledger = { };
      culture-bridge = { };
    }
    // lib.genAttrs (map userOf agents) (name: { });

    systemd.tmpfiles.packages = [ cfg.package ];
    systemd.packages = [
      cfg.package
      dropIns
    ];

    # NixOS does not read [Install].
    systemd.targets.culture.wantedBy = [ "multi-user.target" ];
    systemd.sockets.culture-ircd.wantedBy = [ "sockets.target" ];
    systemd.sockets.culture-ledger.wantedBy = [ "sockets.target" ];
    systemd.sockets.culture-bridge.wantedBy = lib.optional (cfg.bridge.settings != { }) "sockets.target";
    systemd.timers.culture-prune.wantedBy = [ "culture.target" ];
    systemd.targets.culture-agents = {
      wantedBy = [ "culture.target" ];
      wants = map unitOf agents;
    };

    # Restarted in one step when they change, not stopped first: their sockets stay open and who calls waits.
    systemd.services.culture-ircd = {
      wantedBy = [ "culture.target" ];
      restartTriggers = [ ircdFile ];
      stopIfChanged = false;
    };
    systemd.services.culture-ledger = {
      wantedBy = [ "culture.target" ];
      stopIfChanged = false;
    };
    systemd.services.culture-bridge = {
      # The wiki is a git repository.
      path = [ pkgs.git ];
      restartTriggers = [ bridgeFile ];
      stopIfChanged = false;
    };
    systemd.services."culture-agent@" = {
      inherit (cfg.agents) environment;
      # The CLI runs its commands by bash.
      path = [ pkgs.bash ] ++ cfg.agents.path;
      restartTriggers = [ agentsFile ];
      stopIfChanged = false;
    };
  };
}
