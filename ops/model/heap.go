package model

// Heap is what CrateDB says of the heap of a node's process, sys.nodes.heap, in bytes. Max is fixed when the
// process starts. Used has in it what no collection has taken away yet: the process needs that much at most.
// It is the only number of CrateDB's that says what its process needs: mem['used'] and
// os['cgroup']['mem']['usage_bytes'] have the file system's cache in them (memory.current), which fills
// every limit, and process[…] has no memory.
type Heap struct{ Used, Max int64 }
