# As much of nixpkgs and NixOS as ../../nix uses, and no more: an option, an attribute or a package that is not
# written here, or is given something of another type, is refused. It builds nothing.
let
  inherit (builtins)
    attrNames
    concatStringsSep
    elemAt
    filter
    functionArgs
    genList
    intersectAttrs
    isAttrs
    isBool
    isList
    isString
    length
    mapAttrs
    pathExists
    toJSON
    ;

  # ---- types: (where it stands, the value) → the value, or a refusal ----------------------------------------

  one =
    words: is: where: value:
    if is value then value else throw "${where}: expected ${words}";

  types = rec {
    bool = one "true or false" isBool;
    str = one "text" isString;
    package = one "a package" (value: isAttrs value && value.type or "" == "derivation");
    file = one "a file" (value: isString value || (isAttrs value && value.type or "" == "derivation"));
    data = one "keys" isAttrs;
    listOf =
      type: where: value:
      if isList value then
        genList (i: type "${where}[${toString i}]" (elemAt value i)) (length value)
      else
        throw "${where}: expected a list";
    attrsOf = type: where: value: mapAttrs (name: type "${where}.${name}") (data where value);
    # Keys with a type each; those that are not given are left out.
    keys =
      known: where: value:
      let
        unknown = filter (name: !known ? ${name}) (attrNames (data where value));
      in
      if unknown == [ ] then
        mapAttrs (name: known.${name} "${where}.${name}") value
      else
        throw "${where}: unknown ${concatStringsSep ", " unknown}";
  };

  # ---- options of the module: nested, each with a type, most with a default ---------------------------------

  isOption = value: value._type or "" == "option";

  settle =
    where: declared: given:
    let
      unknown = filter (name: !declared ? ${name}) (attrNames (types.data where given));
      value =
        name: option:
        if !isOption option then
          settle "${where}.${name}" option (given.${name} or { })
        else if given ? ${name} then
          option.type "${where}.${name}" given.${name}
        else
          option.type "${where}.${name}" option.default;
    in
    if unknown == [ ] then
      mapAttrs value declared
    else
      throw "${where}: unknown ${concatStringsSep ", " unknown}";

  # ---- what NixOS takes from it -----------------------------------------------------------------------------

  unit = {
    wantedBy = types.listOf types.str;
    wants = types.listOf types.str;
  };
  service = unit // {
    environment = types.attrsOf types.str;
    path = types.listOf types.package;
    restartTriggers = types.listOf types.package;
    stopIfChanged = types.bool;
  };
  nixos = types.keys {
    environment = types.keys {
      etc = types.attrsOf (types.keys { source = types.file; });
      systemPackages = types.listOf types.package;
    };
    systemd = types.keys {
      packages = types.listOf types.package;
      services = types.attrsOf (types.keys service);
      sockets = types.attrsOf (types.keys unit);
      targets = types.attrsOf (types.keys unit);
      timers = types.attrsOf (types.keys unit);
      tmpfiles = types.keys { packages = types.listOf types.package; };
    };
    users = types.keys {
      groups = types.attrsOf (types.keys { });
      users = types.attrsOf (types.keys {
        description = types.str;
        group = types.str;
        home = types.str;
        isSystemUser = types.bool;
        extraGroups = types.listOf types.str;
      });
    };
  };

  # ---- lib and pkgs -----------------------------------------------------------------------------------------

  lib = {
    types = {
      inherit (types)
        attrsOf
        bool
        listOf
        package
        str
        ;
    };
    mkOption =
      {
        type,
        description,
        default,
        defaultText ? null,
        example ? null,
      }:
      {
        _type = "option";
        inherit type default;
      };
    mkEnableOption =
      what:
      lib.mkOption {
        type = types.bool;
        default = false;
        description = "Whether to enable ${what}.";
      };
    mkIf = condition: content: if condition then content else { };
    optional = condition: value: if condition then [ value ] else [ ];
    literalExpression = types.str "literalExpression";
    inherit (builtins) head;
    genAttrs =
      names: value:
      builtins.listToAttrs (
        map (name: {
          inherit name;
          value = value name;
        }) names
      );
    licenses.mit = "MIT";
    platforms.linux = [ "linux" ];
    fileset = {
      unions = paths: map (path: if pathExists path then path else throw "${toString path} is not there") paths;
      toSource = { root, fileset }: fileset;
    };
  };

  derivation = name: {
    type = "derivation";
    inherit name;
    outPath = "/nix/store/${name}";
  };

  # The attributes are those that the builders of nixpkgs document.
  buildPython =
    {
      pname,
      version,
      pyproject,
      src,
      build-system,
      dependencies,
      meta,
      nativeBuildInputs ? [ ],
      postFixup ? "",
      postInstall ? "",
      postPatch ? "",
      pythonImportsCheck ? [ ],
    }@given:
    let
      checked = types.listOf types.package pname (build-system ++ dependencies ++ nativeBuildInputs);
    in
    builtins.deepSeq [ checked src ] (given // derivation "${pname}-${version}");

  pkgs = {
    inherit lib;
    callPackage =
      path: given:
      let
        function = import path;
      in
      function (intersectAttrs (functionArgs function) pkgs // given);
    bash = derivation "bash";
    coreutils = derivation "coreutils";
    fetchPypi = { pname, version, hash }: derivation "${pname}-${version}.tar.gz" // { inherit hash; };
    # JSON is YAML, and what nixpkgs makes its YAML from.
    formats.yaml =
      { }:
      {
        type = types.data;
        generate = name: value: derivation name // { text = toJSON value; };
      };
    git = derivation "git";
    runCommand = name: env: script: derivation name // { script = types.str name script; };
    installShellFiles = derivation "installShellFiles";
    systemd = derivation "systemd";
    python3Packages =
      lib.genAttrs [
        "aiohttp"
        "anyio"
        "cryptography"
        "docutils"
        "hatchling"
        "jsonschema"
        "mcp"
        "jinja2"
        "pyjwt"
        "pyyaml"
        "sdnotify"
        "sniffio"
        "systemd-python"
        "uvloop"
        "wsproto"
      ] derivation
      // {
        buildPythonApplication = buildPython;
        buildPythonPackage = buildPython;
      };
  };
in
{
  inherit lib pkgs;
  legacyPackages = lib.genAttrs [
    "aarch64-linux"
    "x86_64-linux"
  ] (system: pkgs);

  # What the module makes of a host's `services.culture`.
  evaluate =
    module: given:
    let
      made = import module {
        inherit lib pkgs;
        config.services.culture = settle "services.culture" made.options.services.culture given;
      };
    in
    nixos "config" made.config;
}
