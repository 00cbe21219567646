package definition

import (
	"strings"

	"gopkg.in/yaml.v3"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Drill is spec.backups.drill: when the newest snapshot is restored on trial.
type Drill struct {
	// Cron has five fields, in TimeZone; "" is UTC.
	Cron, TimeZone string
	// MaxBytes is how much one drill restores; 0 is everything.
	MaxBytes int64
}

// String is as a person reads it.
func (d *Drill) String() string {
	words := []string{d.Cron}
	if d.TimeZone != "" {
		words = append(words, d.TimeZone)
	}
	if d.MaxBytes > 0 {
		words = append(words, "at most "+resource.NewQuantity(d.MaxBytes, resource.BinarySI).String())
	}
	return strings.Join(words, " ")
}

// drillOf reads a node that has been checked; nil for none.
func drillOf(n *yaml.Node) *Drill {
	if n == nil {
		return nil
	}
	d := &Drill{Cron: str(n, "cron"), TimeZone: str(n, "timeZone")}
	d.MaxBytes, _ = Bytes(str(n, "maxBytes"))
	return d
}
