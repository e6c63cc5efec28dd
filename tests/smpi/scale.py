"""scale.py <smpirun> <smpi_scale> [RANKS...] [WORKLOAD...]: the table of the distributed algorithms
on simulated machines.

Fails if a result is incorrect or differs from that of one rank, or if a job fails. A job that
exceeds its time limit is reported as unfinished, without a verdict."""

import os
import subprocess
import sys
import tempfile

WORKLOADS = ["matmul-recursive", "matmul-summa", "matmul-summa-deep", "matmul-summa-wide",
             "matmul-summa-tall",
             "transpose-alltoall", "transpose-pairwise", "sort-exact", "sort-samplesort",
             "stencil-1-step", "stencil-4-steps"]
LIMIT = float(os.environ.get("TESSERA_SMPI_LIMIT", "120"))  # seconds for one workload
LINK = 12.5e9
# (topology, its parameters, nodes, bytes/s of a node when all send to all). The fat tree has full
# bisection; in the dragonflies 8 (2) links join two groups of 64 (16) nodes, over which each sends
# a quarter of its data to each other group. In the small one 64 ranks span several groups.
PLATFORMS = {"fat tree": ("FAT_TREE", "2;16,16;1,16;1,1", 256, LINK),
             "dragonfly": ("DRAGONFLY", "4,8;4,4;4,4;4", 256, LINK * 8 / 64 * 4),
             "dragonfly64": ("DRAGONFLY", "4,2;2,2;4,2;2", 64, LINK * 2 / 16 * 4)}
# The figures are those of links as seen by messages; a rank spends 0.3 us on each message it sends
# or receives.
CONFIGURATION = ["smpi/simulate-computation:no", "smpi/wtime:0", "smpi/coll-selector:mpich",
                 "smpi/bw-factor:0:1",
                 "smpi/lat-factor:0:1", "smpi/ois:0:3e-7:0", "smpi/or:0:3e-7:0",
                 "network/crosstraffic:no"]
COLUMNS = ["workload", "platform", "ranks", "right?", "messages", "bytes", "simulated us",
           "predicted us", "ratio"]


def write_platform(folder, topology, parameters, nodes):
    platform, hosts = (os.path.join(folder, f"{topology}-{nodes}.{kind}")
                       for kind in ("xml", "hosts"))
    with open(platform, "w", encoding="utf-8") as file:
        file.write('<?xml version="1.0"?>\n<!DOCTYPE platform SYSTEM '
                   '"https://simgrid.org/simgrid.dtd">\n'
                   f'<platform version="4.1">\n<cluster id="c" prefix="node-" suffix="" '
                   f'radical="0-{nodes - 1}" '
                   f'speed="10Gf" bw="{LINK}Bps" lat="250ns" topology="{topology}" '
                   f'topo_parameters="{parameters}"/>\n'
                   "</platform>\n")
    with open(hosts, "w", encoding="utf-8") as file:
        file.writelines(f"node-{i}\n" for i in range(nodes))
    return platform, hosts


def run(smpirun, program, files, crowd, ranks, workload):
    """Returns the fields of the program's line about the workload; None if it exceeded its time
    limit."""
    command = [smpirun, "-no-privatize", "-np", str(ranks), "-platform", files[0], "-hostfile",
               files[1],
               "--log=root.thres:warning", *(f"--cfg={c}" for c in CONFIGURATION), program,
               str(crowd), workload]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          start_new_session=True) as job:
        try:
            output, _ = job.communicate(timeout=LIMIT)
        except subprocess.TimeoutExpired:
            os.killpg(job.pid, 15)
            job.communicate()
            return None
    lines = [line for line in output.splitlines() if line.startswith(workload + ",")]
    if job.returncode != 0 or "eadlock" in output or len(lines) != 1:
        sys.exit(f"{workload} on {ranks} ranks failed ({job.returncode}):\n{output}")
    return lines[0].split(",")


def main():
    smpirun, program, *words = sys.argv[1:]
    ranks = [int(word) for word in words if word.isdigit()]
    workloads = [word for word in words if not word.isdigit()] or WORKLOADS
    faults = 0
    print("Communication alone: computing takes no simulated time. predicted: the model of "
          "`--plan`.")
    print("{:<20}{:<12}{:>6} {:<7}{:>9}{:>13}{:>14}{:>14}{:>7}".format(*COLUMNS))
    with tempfile.TemporaryDirectory() as folder:
        for name, (topology, parameters, nodes, crowd) in PLATFORMS.items():
            files = write_platform(folder, topology, parameters, nodes)
            for workload in workloads:
                one = None
                for count in [1, *(count for count in ranks if count <= nodes)]:
                    fields = run(smpirun, program, files, crowd, count, workload)
                    if fields is None:
                        print(f"{workload:<20}{name:<12}{count:>6} unfinished after {LIMIT:.0f} s",
                              flush=True)
                        continue
                    verdict, digest, messages, size, _, simulated, predicted = fields[2:]
                    one = digest if count == 1 else one
                    right = "yes" if verdict == "right" and digest == one else "NO"
                    faults += right == "NO"
                    took, said = float(simulated) * 1e6, float(predicted) * 1e6
                    ratio = f"{said / took:7.2f}" if took > 0 else "      -"
                    print(f"{workload:<20}{name:<12}{count:>6} "
                          f"{right:<7}{messages:>9}{size:>13}{took:>14.1f}"
                          f"{said:>14.1f}{ratio}", flush=True)
    sys.exit(1 if faults else 0)


main()
