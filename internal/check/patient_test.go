package check

import "time"

// A machine that is busy elsewhere may take longer for a check.
func init() { patience = 10 * time.Minute }
