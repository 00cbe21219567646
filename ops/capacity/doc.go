// Package capacity forecasts where CrateDB can put shards: by filters, watermarks, zones and
// limits. It follows the allocation deciders of CrateDB's source.
package capacity
