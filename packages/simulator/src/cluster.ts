export type { ClusterConsistency, ClusterModel, ClusterReport, ClusterRun } from "./cluster/cluster-model.ts";
export { simulateCluster } from "./cluster/simulate-cluster.ts";
