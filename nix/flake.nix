{
  description = "People and AI coding agents on one IRC network, on your own Linux hosts";

  # The one that the operator's own flake follows matters, not this one.
  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";

  outputs =
    { nixpkgs, ... }:
    let
      eachSystem = nixpkgs.lib.genAttrs [
        "aarch64-linux"
        "x86_64-linux"
      ];
    in
    {
      packages = eachSystem (system: rec {
        culture = nixpkgs.legacyPackages.${system}.callPackage ./package.nix { };
        default = culture;
      });
      nixosModules = rec {
        culture = ./module.nix;
        default = culture;
      };
    };
}
