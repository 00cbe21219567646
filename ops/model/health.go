package model

// Health is the worst of sys.health. No rows is green only after recovery.
type Health struct {
	Colour Colour
	// Tables are those that are not green, "schema.table", at most 20.
	Tables []string
	// Red are those of them that are red.
	Red []string
	// Missing and Underreplicated are sums over all tables.
	Missing, Underreplicated int64
	// Tables and partitions that were read.
	Rows int
}
