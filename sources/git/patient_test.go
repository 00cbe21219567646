package git

import "time"

// A machine that is busy elsewhere is no host that is broken.
func init() { handshakeTimeout = 10 * time.Minute }
