// Package chaos writes and reads like an application while stevedore carries
// out operations on its cluster, with nodes and the daemon killed meanwhile, and
// says what that did to the data: on the simulator, or on a real CrateDB.
//
// What must hold:
//
//   - no acknowledged row is lost of a table with a replica or more;
//   - where no node is killed, at least 99.9 % of the reads and of the writes on
//     such tables are answered, with one retry;
//   - each operation ends: the daemon says done, the cluster is green, and
//     allocation settings and tables' own filters are as they were;
//   - no row is there twice, and none that nobody wrote;
//   - a dropped table stays dropped when nodes come back on their old volumes.
//
// A suspension takes the cluster away on purpose: the application rests then.
// What happens to tables without replicas is reported only.
package chaos
