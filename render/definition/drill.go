package definition

import (
	"strings"

	"gopkg.in/yaml.v3"
)

// Drill is spec.backups.drill: when the newest snapshot is restored on trial.
type Drill struct {
	// Cron has five fields, in TimeZone; "" is UTC.
	Cron, TimeZone string
	// MaxBytes is how much one drill restores, Most as it is written; 0 and "" are everything.
	MaxBytes int64
	Most     string `json:",omitempty"`
}

// String is as a person reads it.
func (d *Drill) String() string {
	words := []string{d.Cron}
	if d.TimeZone != "" {
		words = append(words, d.TimeZone)
	}
	if d.MaxBytes > 0 {
		words = append(words, "at most "+d.Most)
	}
	return strings.Join(words, " ")
}

// drillOf reads a node that has been checked; nil for none.
func drillOf(n *yaml.Node) *Drill {
	if n == nil {
		return nil
	}
	d := &Drill{Cron: str(n, "cron"), TimeZone: str(n, "timeZone")}
	d.Most = str(n, "maxBytes")
	d.MaxBytes, _ = Bytes(d.Most)
	return d
}
