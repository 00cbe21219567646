package planprint

import (
	"fmt"
	"io"
	"strings"
)

// GitHub writes findings as workflow commands, of which a runner of GitHub
// Actions makes annotations at their lines. Only what is escaped here can stand
// in one: a message cannot begin another command.
func GitHub(w io.Writer, findings []Finding) error {
	var b strings.Builder
	for _, f := range findings {
		b.WriteString("::" + string(f.Level) + " ")
		if f.File != "" {
			b.WriteString("file=" + property(f.File) + ",")
			if f.Line > 0 {
				fmt.Fprintf(&b, "line=%d,", f.Line)
				if f.Column > 0 {
					fmt.Fprintf(&b, "col=%d,", f.Column)
				}
			}
		}
		heading := "stevedore"
		if f.Cluster != "" {
			heading += " " + f.Cluster
		}
		if f.Rule != RuleDefinition {
			heading += ": " + f.Rule
		}
		b.WriteString("title=" + property(heading) + "::" + data(f.Message) + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

var (
	dataEscapes     = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	propertyEscapes = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

// data keeps a message's lines and nothing else that a terminal would act on.
func data(text string) string {
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		lines[i] = plain(l)
	}
	return dataEscapes.Replace(strings.Join(lines, "\n"))
}

func property(text string) string { return propertyEscapes.Replace(plain(text)) }
