#!/usr/bin/env python3
"""What users and tokens may do with a sluiced, through its real sockets.

    tests/attack/roles.py BUILD_FOLDER

The clients run as users of numbers that nobody has; only root can start them.
"""

import os
import signal
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "daemon"))
from harness import BUILD, Daemon, Sluice, compile_digits, eventually, holds, prove, same  # noqa: E402

ALICE, BOB, CAROL, DAVE = 4_000_001, 4_000_002, 4_000_003, 4_000_004
OPS = 4_000_100
EACH_CALL = {  # a command of each group of calls
    "control": ("groups", "--create", "1"),
    "monitor": ("stats",),
    "inference": ("infer", "digits", "--input", "image=zeros"),
}


class User(Sluice):
    """The `sluice` command of another user."""

    def __init__(self, user: int, daemon: Daemon, groups: tuple[int, ...] = ()) -> None:
        super().__init__("--address", daemon.socket)
        self._user, self._groups = user, groups

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return run_as(self._user, [str(BUILD / "bin/sluice"), *arguments, *self._options], self._groups)


def run_as(user: int, command: list[str], groups: tuple[int, ...] = ()) -> subprocess.CompletedProcess[str]:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("SLUICE_")}
    return subprocess.run(command, capture_output=True, text=True, env=environment, stdin=subprocess.DEVNULL,
                          check=False, user=user, group=user, extra_groups=groups, cwd="/")


def open_daemon(folder: Path, *flags: str) -> Daemon:
    """One whose socket every user may reach."""
    folder.chmod(0o755)
    (folder / "d").mkdir(mode=0o755)
    return Daemon(folder / "d", "--socket-mode", "0666", *flags)


def as_flags(rules: list[str]) -> list[str]:
    return [word for rule in rules for word in ("--roles", rule)]


def shared_package(folder: Path) -> str:
    package = compile_digits(folder)
    package.chmod(0o644)
    return str(package)


def may_only(client: Sluice, *roles: str) -> None:
    for role, command in EACH_CALL.items():
        if role in roles:
            client.text(*command)
        else:
            needed = f"the role {role}" if roles or role != "inference" else "a role"  # it looks for the model first
            holds(client.refusal(*command), f"this call needs {needed}")


def users_may_do_what_their_roles_say(folder: Path) -> None:
    package = shared_package(folder)
    rules = [f"user:{ALICE}=inference", f"user:{BOB}=control", f"group:{OPS}=monitor", "others=none"]
    with open_daemon(folder, *as_flags(rules)) as daemon:
        Sluice("--address", daemon.socket).text("load", package)
        alice, bob = User(ALICE, daemon), User(BOB, daemon)
        same([one["name"] for one in alice.json("models")], ["digits"])
        holds(alice.text("server"), f"this client is user {ALICE}, with the roles inference")
        server = bob.json("server")
        same((server["account"], server["roles"]), (f"user {BOB}", "monitor,control"))
        may_only(alice, "inference")
        may_only(bob, "control", "monitor")
        may_only(User(CAROL, daemon, (OPS,)), "monitor")
        may_only(User(ALICE, daemon, (OPS,)), "inference", "monitor")
        may_only(User(CAROL, daemon))
        for command in (("models",), ("server",)):
            holds(User(CAROL, daemon).refusal(*command), f"user {CAROL} has none")
        holds(alice.refusal("load", package), "needs the role control")
        repeated = ("infer", "digits", "--input", "image=zeros", "--repeat", "3")
        alice.text(*repeated)
        holds(bob.refusal(*repeated), "needs the role inference")
        for command in (("unload", "digits"), ("stop", "digits"), ("sessions", "--kill", "1")):
            holds(alice.refusal(*command), "needs the role control")
        holds(alice.refusal("timeline", "--start"), "needs the role monitor")


def the_side_socket_asks_for_the_role(folder: Path) -> None:
    with open_daemon(folder, *as_flags([f"user:{BOB}=control"])) as daemon:
        done = run_as(BOB, [str(BUILD / "test/daemon_sharer"), daemon.socket, "1"])
        same(done.returncode, 1)
        holds(done.stderr, "needs the role inference")


def metrics_ask_for_the_role(folder: Path) -> None:
    read = ("import http.client as h, socket, sys\n"
            "c = h.HTTPConnection('localhost'); c.sock = socket.socket(socket.AF_UNIX)\n"
            "c.sock.connect(sys.argv[1]); c.request('GET', '/metrics'); print(c.getresponse().status)")
    rules = [f"user:{ALICE}=inference", f"user:{BOB}=monitor"]
    path = folder / "d" / "metrics.sock"
    with open_daemon(folder, *as_flags(rules), "--metrics", f"unix:{path}"):
        for user, status in ((ALICE, "403"), (BOB, "200"), (CAROL, "403")):
            same(run_as(user, ["/usr/bin/python3", "-c", read, str(path)]).stdout.strip(), status)


def a_new_rule_binds_the_next_call(folder: Path) -> None:
    config = folder / "settings.json"
    config.write_text(f'{{"roles": ["user:{ALICE}=monitor"]}}')
    with open_daemon(folder, "-c", str(config)) as daemon:
        alice = User(ALICE, daemon)
        alice.text("stats")
        config.write_text('{"roles": ["others=none"]}')
        daemon.process.send_signal(signal.SIGHUP)
        eventually(lambda: "daemon.reload changed=roles" in daemon.said())
        holds(alice.refusal("stats"), "needs the role")


def what_one_client_made_is_not_anothers_to_remove(folder: Path) -> None:
    package = shared_package(folder)
    with open_daemon(folder) as daemon:
        alice, bob, root = User(ALICE, daemon), User(BOB, daemon), Sluice("--address", daemon.socket)
        alice.text("load", package, "--name", "hers")
        group = alice.json("groups", "--create", "1")["group"]
        bob.text("infer", "hers", "--input", "image=zeros")
        for command in (("unload", "hers"), ("stop", "hers"), ("groups", "--destroy", str(group))):
            holds(bob.refusal(*command), f"was made by user {ALICE}")
        alice.text("stop", "hers")
        alice.text("groups", "--destroy", str(group))
        root.text("unload", "hers")
        holds(daemon.said(), f'group=1 session=0 by="user {ALICE}"')


def quotas_bind_users_without_a_session(folder: Path) -> None:
    package = shared_package(folder)
    with open_daemon(folder, "--session-models", "2") as daemon:
        alice, bob = User(ALICE, daemon), User(BOB, daemon)
        for name in ("a", "b"):
            alice.text("load", package, "--name", name)
        holds(alice.refusal("load", package, "--name", "c"), "may hold 2 models")
        bob.text("load", package, "--name", "c")
        alice.text("unload", "a")
        alice.text("load", package, "--name", "d")


def priorities_are_bounded(folder: Path) -> None:
    package = shared_package(folder)
    with open_daemon(folder, *as_flags(["others=control,inference,max_priority=2"])) as daemon:
        alice = User(ALICE, daemon)
        holds(alice.refusal("deploy", package, "--priority", "3"), "the roles of this client allow 2 at most")
        alice.text("deploy", package, "--priority", "2")
        Sluice("--address", daemon.socket).text("deploy", package, "--name", "admins", "--priority", "3")


def models_of_others_have_workers(folder: Path) -> None:
    package = shared_package(folder)
    with open_daemon(folder, "--isolation", "others") as daemon:
        alice, root = User(ALICE, daemon), Sluice("--address", daemon.socket)
        for client, has_worker in ((root, False), (alice, True)):
            for command in ("load", "deploy"):
                client.text(command, package, "--name", "one")
                client.text("infer", "one", "--input", "image=zeros")
                [group] = root.json("groups")
                same(group["isolation"], "process" if has_worker else "stream")
                client.text("unload", "one")
        alice.text("load", package, "--isolation", "stream")


def tokens_have_roles_models_and_quotas(folder: Path) -> None:
    package = shared_package(folder)
    (folder / "tokens").write_text("# who may come\ns-ops control ops\ns-web inference web\nall-of-it\n"
                                   "s-ops2 control other-ops\n")
    with Daemon(folder / "d", "-g", "localhost:0", "--token-file", str(folder / "tokens"), "--session-models",
                "1") as daemon:
        [address] = [one for one in daemon.addresses if one.startswith("localhost:")]

        def client(token: str) -> Sluice:
            return Sluice("--address", address, "--token", token)

        client("s-ops").text("load", package)
        may_only(client("s-web"), "inference")
        may_only(client("s-ops"), "control", "monitor")
        may_only(client("all-of-it"), "control", "monitor", "inference")
        holds(client("s-ops2").refusal("unload", "digits"), "was made by token ops")
        holds(client("s-ops").refusal("load", package, "--name", "b"), "may hold 1 model;")
        client("s-ops2").text("load", package, "--name", "b")
        client("s-ops").text("unload", "digits")
        for secret in ("s-ops", "s-web", "all-of-it"):
            assert secret not in daemon.said(), "a secret is in the log"


if __name__ == "__main__":
    if os.geteuid() != 0:
        print("skipped: only root can start clients of other users")
        sys.exit(77)
    sys.exit(prove([
        users_may_do_what_their_roles_say,
        the_side_socket_asks_for_the_role,
        metrics_ask_for_the_role,
        a_new_rule_binds_the_next_call,
        what_one_client_made_is_not_anothers_to_remove,
        quotas_bind_users_without_a_session,
        priorities_are_bounded,
        models_of_others_have_workers,
        tokens_have_roles_models_and_quotas,
    ]))
