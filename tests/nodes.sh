#!/usr/bin/env bash
# bash tests/nodes.sh COMMAND...: runs a command, every mpirun in which spreads its ranks over two
# nodes, by turns: network namespaces of this machine that reach each other by TCP at RATE (2gbit)
# alone and share no memory as far as MPI knows. Exits with 77 where that cannot be had (it takes
# root, iproute2 and Open MPI).
set -euo pipefail
if [ "${1:-}" = --agent ]; then # what mpirun starts its daemons by: --agent ADDRESS COMMAND...
  node=$NODES_HERE-${2##*.}
  exec ip netns exec "$node" unshare --uts bash -c "hostname $node; ${*:3}"
fi
self=$(realpath "$0")
# Without dots: Open MPI names its files in the common /dev/shm by what is before the first.
export NODES_HERE=node-$$
bridge=br$$ network=10.213.$(($$ % 256)) hosts=$(mktemp)
clean() {
  local node
  for node in 1 2; do ip netns del "$NODES_HERE-$node" 2>/dev/null || true; done
  ip link del "$bridge" 2>/dev/null || true
  rm -f "$hosts"
}
trap clean EXIT
make_nodes() {
  local node name
  ip link add "$bridge" type bridge && ip addr add "$network.254/24" dev "$bridge" &&
    ip link set "$bridge" up || return
  for node in 1 2; do
    name=$NODES_HERE-$node
    ip netns add "$name" && ip link add "v$node.$$" type veth peer name eth0 netns "$name" || return
    ip link set "v$node.$$" master "$bridge" up &&
      ip -n "$name" addr add "$network.$node/24" dev eth0 || return
    ip -n "$name" link set eth0 up && ip -n "$name" link set lo up || return
    ip netns exec "$name" tc qdisc add dev eth0 root tbf rate "${RATE:-2gbit}" burst 256k \
      latency 50ms || return
    echo "$network.$node slots=64" >>"$hosts"
  done
}
make_nodes || {
  echo "no nodes to be had here: network namespaces take root and iproute2"
  exit 77
}
# Open MPI 4
export OMPI_MCA_plm=rsh OMPI_MCA_plm_rsh_agent="$self --agent"
export OMPI_MCA_orte_default_hostfile=$hosts OMPI_MCA_rmaps_base_mapping_policy=node
export OMPI_MCA_oob_tcp_if_include=$network.0/24
# Open MPI 5
export PRTE_MCA_plm=ssh PRTE_MCA_plm_ssh_agent="$self --agent"
export PRTE_MCA_prte_default_hostfile=$hosts
export PRTE_MCA_rmaps_default_mapping_policy=node:oversubscribe
export PRTE_MCA_prte_if_include=$network.0/24
# both; vader is named sm in 5
export OMPI_MCA_pml=ob1 OMPI_MCA_btl=self,vader,tcp OMPI_MCA_btl_tcp_if_include=$network.0/24
"$@"
