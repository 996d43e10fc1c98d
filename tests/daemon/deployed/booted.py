#!/usr/bin/env python3
"""The installed units under a systemd that is booted for it, in namespaces over this machine's files: installation,
socket activation, workers, the upgrade, reload, drain and removal.

    tests/daemon/deployed/booted.py BUILD_FOLDER [PACKAGE.deb]

Without a package, what `cmake --install` installs. Nothing outside changes: the file system is an overlay.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests/daemon"))
from harness import is_sanitized  # noqa: E402

# Has its own, would ask the kernel, or waits for what is not here.
LEFT_OUT = ["systemd-udevd.service", "systemd-udev-trigger.service", "systemd-udevd-control.socket",
            "systemd-udevd-kernel.socket", "systemd-logind.service", "getty.target", "console-getty.service",
            "systemd-networkd.service", "systemd-resolved.service", "systemd-timesyncd.service", "systemd-sysctl.service",
            "systemd-modules-load.service", "dev-hugepages.mount", "dev-mqueue.mount", "sys-kernel-debug.mount",
            "sys-kernel-tracing.mount", "sys-fs-fuse-connections.mount"]
BOOT = r"""
set -e
root=$1/root
mount --make-rprivate /
mount -t tmpfs tmpfs "$1/disk"
mkdir "$1/disk/upper" "$1/disk/work"
mount -t overlay overlay -o "lowerdir=/,upperdir=$1/disk/upper,workdir=$1/disk/work" "$root"
mount -t proc proc "$root/proc"
mount -t sysfs -o ro sysfs "$root/sys"
mount -t tmpfs -o mode=755 tmpfs "$root/sys/fs/cgroup"
mkdir "$root/sys/fs/cgroup/systemd"
mount -t cgroup -o none,name=systemd cgroup "$root/sys/fs/cgroup/systemd"
mount -t tmpfs -o mode=755 tmpfs "$root/run"
mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
mount -t tmpfs -o mode=755 tmpfs "$root/dev"
mkdir "$root/dev/shm" "$root/dev/pts"
mount -t tmpfs tmpfs "$root/dev/shm"
for name in null zero full random urandom tty; do
  touch "$root/dev/$name"
  mount --bind "/dev/$name" "$root/dev/$name"
done
touch "$root/dev/console"
mkdir "$root/claims"
mount --bind "$1/claims" "$root/claims"
mount --bind "$1/claims/console" "$root/dev/console"
exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin container=other chroot "$root" bash /claims/install
"""
INSTALL = r"""
set -e
cd /
for name in LEFT_OUT; do ln -sf /dev/null "/etc/systemd/system/$name"; done
# The package's own scripts do this where systemd runs; the image of a machine gets it at its first boot.
/claims/files
systemd-sysusers
systemd-tmpfiles --create sluice.conf
systemctl --quiet enable sluice-discover.service sluiced.service
cat >/etc/systemd/system/claims.service <<END
[Unit]
After=multi-user.target
Wants=multi-user.target
[Service]
Type=oneshot
ExecStart=/bin/bash -c "bash /claims/claims >/claims/said 2>&1; echo \$? >/claims/status; systemctl exit"
END
exec /lib/systemd/systemd --system --unit=claims.service --log-target=console --show-status=no
"""
CLAIMS = r"""
set -euo pipefail
export SLUICE_ADDRESS=unix:/run/sluice.sock
fail() { echo "FAIL $1"; journalctl --no-pager -n 60 2>/dev/null || true; systemctl status --no-pager -n 30 sluiced.service || true; exit 1; }
# In a list with || bash ignores `set -e` within the claim, so that only its last command would count.
claim() {
  local name=$1 status
  shift
  set +e
  (set -e; "$@") >/tmp/out 2>&1
  status=$?
  set -e
  [[ $status == 0 ]] || { cat /tmp/out; fail "$name"; }
  echo "ok   $name"
}
every_command_of_a_claim_counts() {
  set +e
  (fail() { exit 1; }; fails_first() { false; true; }; claim "" fails_first) >/dev/null
  [[ $? == 1 ]]
}
main_pid() { systemctl show --value -p MainPID "$1"; }

the_boot_started_both() {
  [[ $(systemctl show --value -p FragmentPath sluiced) == */systemd/system/sluiced.service ]]
  [[ -L /etc/systemd/system/multi-user.target.wants/sluiced.service ]]
  [[ -L /etc/systemd/system/multi-user.target.wants/sluice-discover.service ]]
  systemctl is-active sluiced
  [[ $(systemctl show --value -p Result sluice-discover) == success && -s /run/sluice/devices.json ]]
  journalctl --no-pager -u sluice-discover | grep -E ' 0 +cpu '
  sluice models
}
syslog() { journalctl --no-pager -o cat -t sluiced _TRANSPORT=syslog; }
syslog_has_devices_and_address() {
  syslog | grep -E '^device.ready device=0 kind=cpu .* cores='
  syslog | grep -E '^daemon.ready .*listen=unix:/run/sluice/sluice.sock'
}
an_unfit_map_is_reported() {
  echo '{' >/run/sluice/devices.json
  systemctl restart sluiced
  syslog | grep -F 'map.unfit path=/run/sluice/devices.json reason="'
  sluice models
}
runs_as_its_user() {
  [[ $(ps -o user= -p "$(main_pid sluiced)") == sluice ]]
  grep -q 'CapEff:.0000000000000000' "/proc/$(main_pid sluiced)/status"
  grep -q 'Seccomp:.2' "/proc/$(main_pid sluiced)/status"
}
serves() {
  sluice load /claims/digits.sluice --name "$1" --isolation "$1"
  sluice infer "$1" --input image=random --repeat 50 --in-flight 2
}
a_new_daemon_takes_over() {
  local before=$(main_pid sluiced)
  systemctl kill --signal=USR2 --kill-whom=main sluiced
  changed() { [[ $(main_pid sluiced) != "$before" && ! -e /proc/$before ]]; }
  until changed; do systemctl is-active --quiet sluiced; sleep 0.1; done
  systemctl is-active sluiced
  [[ $(systemctl show --value -p NRestarts sluiced) == 0 ]]
  sluice infer process --input image=random
  sluice infer stream --input image=random
}
client_starts_the_daemon() {
  systemctl start sluiced.socket
  if systemctl is-active sluiced; then return 1; fi
  sluice models
  systemctl is-active sluiced
}
an_instance_has_settings_of_its_own() {
  echo '{"lock_folder": "/run/sluice/part-locks", "log_console": true}' >/etc/sluice/part.json
  systemctl start sluiced@part
  SLUICE_ADDRESS=unix:/run/sluice/part.sock sluice server
  for way in stdout syslog; do  # the console beside syslog
    journalctl --no-pager -o cat -u sluiced@part _TRANSPORT=$way | grep "^daemon.ready "
  done
  systemctl stop sluiced@part
}
a_restart_keeps_deployments() {
  systemctl restart sluiced
  sluice infer stream --input image=random
}
claim "every command of a claim counts" every_command_of_a_claim_counts
claim "the boot started the daemon and discovery" the_boot_started_both
claim "syslog has the devices and the address" syslog_has_devices_and_address
claim "a map that does not fit is reported" an_unfit_map_is_reported
claim "the service commands stop the daemon" bash -c 'systemctl stop sluiced sluice-discover; ! systemctl is-active sluiced'
claim "the map of devices is written" bash -c 'systemctl start sluice-discover && [[ -s /run/sluice/devices.json ]]'
claim "the daemon starts" systemctl start sluiced
claim "it runs as the user sluice, without capabilities, filtered" runs_as_its_user
claim "a model in the daemon answers" serves stream
claim "a model in a worker answers" serves process
claim "a reload is done" systemctl reload sluiced
claim "a new daemon takes the place of the old one" a_new_daemon_takes_over
claim "a restart keeps what was deployed" a_restart_keeps_deployments
claim "a stop drains and ends well" bash -c 'systemctl stop sluiced && [[ $(systemctl show --value -p Result sluiced) == success ]]'
claim "the first client starts the daemon through its socket" client_starts_the_daemon
claim "the daemon of a socket is replaced too" a_new_daemon_takes_over
claim "systemd removes its socket" bash -c 'systemctl stop sluiced sluiced.socket && [[ ! -e /run/sluice/sluice.sock ]]'
claim "an instance has settings of its own" an_instance_has_settings_of_its_own
"""


def reason_to_skip() -> str:
    if os.geteuid() != 0:
        return "needs root, for namespaces and mounts"
    if len(os.sched_getaffinity(0)) < 2:
        return "a model in a worker needs a core beside that of the model in the daemon"
    if not Path("/lib/systemd/systemd").exists():
        return "no systemd is installed"
    if is_sanitized():
        return "a sanitizer makes system calls that the units refuse"
    said = subprocess.run(["systemctl", "--version"], capture_output=True, text=True, check=True).stdout
    if int(said.split()[1]) >= 256:
        return f"{said.splitlines()[0]} boots on control groups of version 2 alone; this test mounts those of version 1"
    with tempfile.TemporaryDirectory() as folder:
        tried = subprocess.run(["unshare", "--mount", "--pid", "--fork", "--cgroup", "--uts", "--ipc", "bash", "-ec",
                                'mount --make-rprivate /; mount -t tmpfs t "$0"; cd "$0"; mkdir a b c; '
                                "mount -t overlay o -o lowerdir=/,upperdir=a,workdir=b c; "
                                "mount -t cgroup -o none,name=systemd c a", folder], capture_output=True, text=True, check=False)
    return f"no namespaces with an overlay and systemd's control group: {tried.stderr.strip()}" if tried.returncode else ""


def script(path: Path, text: str) -> None:
    path.write_text("#!/bin/bash\nset -e\n" + text)
    path.chmod(0o755)


def main() -> int:
    build = Path(sys.argv[1]).resolve()
    if reason := reason_to_skip():
        print(f"skipped: {reason}")
        return 77
    folder = Path(tempfile.mkdtemp(prefix="sluice-booted-"))
    claims = folder / "claims"
    for name in ("claims", "disk", "root"):
        (folder / name).mkdir()
    (claims / "console").touch()
    if len(sys.argv) > 2:
        shutil.copy(sys.argv[2], claims / "sluice.deb")
        script(claims / "files", "dpkg --install /claims/sluice.deb\n")
    else:
        for component in ("Unspecified", "system"):  # those of the package
            subprocess.run(["cmake", "--install", str(build), "--prefix", "/usr", "--component", component], check=True,
                           stdout=subprocess.DEVNULL, env={**os.environ, "DESTDIR": str(claims / "tree")})
        script(claims / "files", "cp -a /claims/tree/. /\nldconfig\n")
    subprocess.run([str(build / "bin/sluice"), "compile", str(ROOT / "examples/digits/digits.onnx"), "-o",
                    str(claims / "digits.sluice")], check=True, stdout=subprocess.DEVNULL)
    (claims / "install").write_text(INSTALL.replace("LEFT_OUT", " ".join(LEFT_OUT)))
    (claims / "claims").write_text(CLAIMS)
    try:
        done = subprocess.run(["unshare", "--mount", "--pid", "--fork", "--cgroup", "--uts", "--ipc", "--kill-child",
                               "bash", "-c", BOOT, "bash", str(folder)], capture_output=True, text=True, check=False,
                              timeout=540)
        said, status = claims / "said", claims / "status"
        print(said.read_text() if said.exists() else (claims / "console").read_text()[-5000:] + done.stderr, end="")
        return int(status.read_text()) if status.exists() else 1
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    sys.exit(main())
